// A plain file server for web/dist on the loopback, under a folder of its own as on any host.
// usage: node scripts/serve.mjs [port]   (tests import serve())
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const kDist = resolve(dirname(fileURLToPath(import.meta.url)), '../dist');
const kPort = 8460;
const kTypes = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml', '.json': 'application/json', '.png': 'image/png', '.jpg': 'image/jpeg', '.gif': 'image/gif',
};

const kPieces = 12; // of a page that is sent slowly

/** A page as it comes over a slow line: in pieces, `pause` milliseconds apart. */
async function send_slowly(response, bytes, pause) {
  const size = Math.ceil(bytes.length / kPieces);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await sleep(pause);
  }
  response.end();
}

/** Serves `folder` below `base` ("/" or "/some/where/"); resolves to the server once it listens. With a `pause` pages come in pieces. */
export function serve({ port = 0, base = '/', folder = kDist, pause = 0 } = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const inside = path.startsWith(base) ? normalize(path.slice(base.length)) : '..';
    let file = join(folder, inside);
    if (file.startsWith(folder) && existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (!file.startsWith(folder) || !existsSync(file)) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
      return;
    }
    response.writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream', 'x-content-type-options': 'nosniff' });
    if (pause > 0 && file.endsWith('.html')) send_slowly(response, readFileSync(file), pause);
    else createReadStream(file).pipe(response);
  });
  return new Promise((done, fail) => server.once('error', fail).listen(port, '127.0.0.1', () => done(server)));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const server = await serve({ port: Number(process.argv[2] ?? kPort) });
  console.log(`field guide: http://127.0.0.1:${server.address().port}/  (Ctrl-C ends it)`);
}
