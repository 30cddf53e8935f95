import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { samplesOf } from '../../../services/dashboard/pages/playground/code-samples.ts';
import type { OptionSchema } from '../../../services/dashboard/pages/playground/schema.ts';
import { captureRequestSchema } from '../../../services/shared/api/capture-request.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';

const schema = captureRequestSchema as unknown as OptionSchema;
const base = 'https://capture.test/api';
const nasty = `it's "$(touch /tmp/x)" \`x\` \\ ü 😀 \u2028 end\\`;
const request = {
  url: `https://example.com/?q=${nasty}`,
  format: 'jpeg',
  isFullPage: true,
  viewport: { width: 800 },
  block: { ads: true },
  pdf: { printBackground: false, margin: { top: '1cm' } },
  hide: ['.a', "#b'c"],
  headers: { 'X-Test': nasty },
  cookies: [{ name: 'a', value: nasty }],
  css: `a { content: "${nasty}" }\n\n`,
};

function codeOf(title: string, of: object = request): string {
  const sample = samplesOf(base, of as typeof request, schema).find((each) => each.title === title);
  return sample?.code() ?? '';
}

/** The arguments that a program gets from a shell. */
async function argumentsIn(code: string, program: string, variables = ''): Promise<{ args: string[]; stdin: string }> {
  const script = `${program}() { printf '%s\\0' "$@"; [ -t 0 ] || { printf '\\n--stdin--\\n'; cat; }; }\n${variables}\n${code}`;
  const promise = promisify(execFile)('bash', ['-c', script], { timeout: 20_000 });
  promise.child.stdin?.end();
  const [args = '', stdin = ''] = (await promise).stdout.split('\n--stdin--\n');
  return { args: args.split('\0').slice(0, -1), stdin };
}

describe('the request to copy means the same in every language', () => {
  test('curl', async () => {
    const { args } = await argumentsIn(codeOf('curl'), 'curl', 'WEBCAPTURE_API_KEY=the-key');
    expect(args).toContain(`${base}/capture`);
    expect(args).toContain('Authorization: Bearer the-key');
    expect(JSON.parse(args[args.indexOf('-d') + 1] ?? '')).toEqual({ ...request, responseType: 'file' });
    expect(args.slice(-2)).toEqual(['-o', 'capture.jpeg']);
  });

  test('TypeScript', async () => {
    const body = codeOf('TypeScript').replaceAll(/^import .*$/gm, '');
    let captured: unknown;
    class Webcapture {
      captureFile = async (options: unknown) => ({ stream: (captured = options) });
    }
    const AsyncFunction = (async () => undefined).constructor as new (
      ...code: string[]
    ) => (...values: unknown[]) => Promise<void>;
    await new AsyncFunction('Webcapture', 'writeFile', body)(Webcapture, async () => undefined);
    expect(captured).toEqual(request);
  });

  test('Python', async () => {
    const python = (await ensureTool('python3')).path;
    const stand = [
      'import sys, types, json',
      'requests = sys.modules["requests"] = types.ModuleType("requests")',
      'def post(url, headers, json, timeout):',
      '    sys.stdout.write(__import__("json").dumps([url, headers, json])); sys.exit(0)',
      'requests.post = post',
    ].join('\n');
    const { stdout } = await promisify(execFile)(python, ['-c', `${stand}\n${codeOf('Python')}`], {
      env: { ...process.env, WEBCAPTURE_API_KEY: 'the-key', PYTHONIOENCODING: 'utf-8' },
      timeout: 20_000,
    });
    expect(JSON.parse(stdout)).toEqual([
      `${base}/capture`,
      { Authorization: 'Bearer the-key' },
      { ...request, responseType: 'file' },
    ]);
  });

  test('the command line, with a flag for each option', async () => {
    const { args } = await argumentsIn(codeOf('Command line'), 'webcapture');
    expect(args).toEqual(
      [
        ['capture', request.url],
        ['--format', 'jpeg', '--full-page', '--viewport-width', '800', '--block-ads'],
        ['--no-pdf-print-background', '--pdf-margin', '{"top":"1cm"}'],
        ['--hide', '.a', '--hide', "#b'c", '--headers', `X-Test: ${nasty}`],
        ['--cookies', JSON.stringify(request.cookies[0]), '--css', request.css],
        ['-o', 'capture.jpeg'],
      ].flat(),
    );
  });

  test('HTML comes by standard input, whatever is in it', async () => {
    const html = `<p>${nasty}</p>\nHTML\nHTML_\n$PATH`;
    const { args, stdin } = await argumentsIn(codeOf('Command line', { html }), 'webcapture');
    expect(args).toEqual(['capture', '-', '-o', 'capture.png']);
    expect(stdin).toBe(`${html}\n`);
  });
});
