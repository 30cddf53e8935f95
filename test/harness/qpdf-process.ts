import { readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import createQpdf from '@neslinesli93/qpdf-wasm';

// Runs qpdf with the given arguments, which name standard input as `/input.pdf`. The process is separate, because qpdf writes to the
// standard output and sets handlers for the errors of its process.
const qpdf = await createQpdf({
  locateFile: () => fileURLToPath(import.meta.resolve('@neslinesli93/qpdf-wasm/dist/qpdf.wasm')),
});
// The type declaration lacks this function of Emscripten.
const files = qpdf.FS as unknown as { writeFile: (path: string, bytes: Uint8Array) => void };
files.writeFile('/input.pdf', readFileSync(0));
process.exitCode = qpdf.callMain(process.argv.slice(2));
