import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('qpdf-process.ts', import.meta.url));

/** Returns what `qpdf --check` reports about a PDF. It reads each object and stream, unlike viewers. */
export async function qpdfCheck(pdf: Buffer, { password }: { readonly password?: string } = {}): Promise<string> {
  const args = [...(password === undefined ? [] : [`--password=${password}`]), '--check', '/input.pdf'];
  const qpdf = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  qpdf.stdin.end(pdf);
  const [output, errors] = await Promise.all([text(qpdf.stdout), text(qpdf.stderr)]);
  return `${output}${errors}`;
}
