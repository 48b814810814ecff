#!/usr/bin/env bash
# Makes the clips of this folder with FFmpeg 5.1 (`ffmpeg` of Debian 12; img2webp of package webp). Frame N of the
# counted clips is one grey of luma 20 + 6 N (limited range), so a test can tell which frame it was given.
# usage: tests/data/video/make.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
run() { ffmpeg -v error -y -fflags +bitexact -flags:v +bitexact "$@" -map_metadata -1; }
counted="nullsrc=s=64x48:r=10,geq=lum='20+6*N':cb=128:cr=128,format=yuv420p"
h264=(-c:v libx264 -preset veryslow -crf 12 -g 8 -bf 2 -bsf:v filter_units=remove_types=6)

# 30 frames at 10 a second, key frames every 8, frames that refer forward and backward.
run -f lavfi -i "$counted" -frames:v 30 "${h264[@]}" -movflags +faststart -fflags +bitexact counted.mp4
run -i counted.mp4 -c copy -fflags +bitexact counted.mkv
run -i counted.mp4 -c copy -fflags +bitexact counted.mov
run -f lavfi -i "$counted" -frames:v 30 -c:v libvpx-vp9 -crf 20 -b:v 0 -g 8 -fflags +bitexact counted.webm
run -f lavfi -i "$counted" -frames:v 30 -c:v libvpx -crf 10 -b:v 1M -auto-alt-ref 1 -lag-in-frames 10 -g 8 \
  -fflags +bitexact counted-vp8.webm
run -f lavfi -i "$counted,scale=in_range=tv:out_range=pc,format=gray" -frames:v 12 -fflags +bitexact counted.gif

# The same with a sound track before the video, and sound alone.
run -f lavfi -i "sine=frequency=440:duration=3" -i counted.mp4 -map 0:a -map 1:v -c:v copy -c:a aac -b:a 16k \
  -fflags +bitexact sound-and-video.mp4
run -f lavfi -i "sine=frequency=440:duration=0.2" -c:a aac -b:a 16k -fflags +bitexact sound.mp4

# Left half dark, right half bright, with a display matrix that turns it: by 90 degrees against the clock, 180, 270.
run -f lavfi -i "nullsrc=s=64x32:r=5,geq=lum='if(lt(X,32),40,200)':cb=128:cr=128,format=yuv420p" -frames:v 4 "${h264[@]}" \
  -fflags +bitexact upright.mp4
for angle in 90 180 270; do
  ffmpeg -v error -y -i upright.mp4 -c copy -metadata:s:v rotate=$angle -fflags +bitexact rotated-$angle.mp4
done

# Ten frames a second apart, then ten at ten a second: 20 frames in 11 seconds.
run -f lavfi -i "$counted,settb=1/1000,setpts='if(lt(N,10),N*1000,10000+(N-10)*100)'" -frames:v 20 -fps_mode passthrough \
  "${h264[@]}" -fflags +bitexact variable.mkv

# One colour, (200, 60, 30), in the three ways to write it down.
colour="color=c=0xC83C1E:s=32x32:r=4,format=rgb24"
for kind in "bt709 tv" "bt709 pc" "smpte170m tv"; do
  read -r matrix range <<<"$kind"
  run -f lavfi -i "$colour,scale=out_color_matrix=$matrix:out_range=$range:flags=accurate_rnd,format=yuv444p" -frames:v 4 \
    -c:v libx264 -crf 1 -bsf:v filter_units=remove_types=6 -colorspace "$matrix" -color_range "$range" \
    -fflags +bitexact "colour-$matrix-$range.mp4"
done

# Transparent GIF: a red square that moves over nothing.
run -f lavfi -i "color=c=black@0:s=32x32:r=5:d=0.8,format=rgba[back];color=c=red:s=8x8:r=5:d=0.8[red];[back][red]overlay=x=4*n:y=8:format=rgb,
  split[a][b];[a]palettegen=reserve_transparent=1[p];[b][p]paletteuse" -frames:v 4 -fflags +bitexact transparent.gif

# Broken and empty ones.
run -i counted.mp4 -frames:v 1 -c:v libx264 -bsf:v filter_units=remove_types=6 -fflags +bitexact one-frame.mp4
ffmpeg -v error -y -i counted.mp4 -c copy -frames:v 0 -fflags +bitexact no-frames.mp4 2>/dev/null || true
head -c $(($(stat -c %s counted.mp4) * 9 / 10)) counted.mp4 >cut.mp4
head -c $(($(stat -c %s counted.webm) * 6 / 10)) counted.webm >cut.webm

# Animated WebP: 8 frames, 100 ms each but the fifth (500 ms).
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ffmpeg -v error -f lavfi -i "nullsrc=s=48x32:r=10,geq=r='20*N':g='20*N':b='20*N',format=rgb24" -frames:v 8 "$scratch/%d.png"
img2webp -loop 0 -d 100 "$scratch"/[1-4].png -d 500 "$scratch/5.png" -d 100 "$scratch"/[6-8].png -o variable.webp >/dev/null
img2webp -loop 0 -d 250 "$scratch"/[1-8].png -o counted.webp >/dev/null
head -c $(($(stat -c %s counted.webp) * 6 / 10)) counted.webp >cut.webp
