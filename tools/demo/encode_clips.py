#!/usr/bin/env python3
"""Write the held-out clips as real video files (MP4 and WebM by turns) with a question about the direction of each.

usage: encode_clips.py demo/heldout [--ffmpeg ffmpeg]
Reads FOLDER/clips.jsonl (frame pictures and GIFs), writes FOLDER/files/NNNN.mp4 or .webm and FOLDER/files.jsonl. Needs
only Python's standard library and the ffmpeg command (Debian 12: 5.1, with libx264 and libvpx). Lossy on purpose, as
clips are: chroma at half resolution, quantised, frames predicted from others.
"""
import argparse
import json
import pathlib
import subprocess

H264 = ["-c:v", "libx264", "-crf", "20", "-bf", "2", "-g", "4", "-bsf:v", "filter_units=remove_types=6", "-movflags", "+faststart"]
VP9 = ["-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-g", "4"]


def encode(ffmpeg, folder, video, fps, out):
    """One file of all frames of the clip, `fps` of them a second."""
    if isinstance(video, list):
        pattern = str(folder / video[0]).replace("1.png", "%d.png")
        source = ["-framerate", str(fps), "-i", pattern]
    else:
        source = ["-i", str(folder / video)]
    codec = H264 if out.suffix == ".mp4" else VP9
    subprocess.run([ffmpeg, "-v", "error", "-y", *source, "-vf", f"setpts=N/({fps}*TB)", "-r", str(fps), "-pix_fmt", "yuv420p",
                    *codec, "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", str(out)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ffmpeg", default="ffmpeg")
    arguments = parser.parse_args()
    (arguments.folder / "files").mkdir(exist_ok=True)
    lines = []
    for line in (arguments.folder / "clips.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["category"] != "direction":
            continue
        clip, text = question["messages"][0]["content"]
        name = "files/{}.{}".format(question["id"].split("-")[1], "webm" if len(lines) % 2 else "mp4")
        encode(arguments.ffmpeg, arguments.folder, clip["video"], clip["fps"], arguments.folder / name)
        lines.append({"id": question["id"].replace("clip", "file"), "category": "file-direction",
                      "messages": [{"role": "user", "content": [{"type": "video", "video": name}, text]}],
                      "accept": question["accept"]})
    (arguments.folder / "files.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lines), encoding="utf-8")
    print(len(lines), "clips")


if __name__ == "__main__":
    main()
