import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../../', import.meta.url));

/** Time limit of all commands of a guide: some seconds for each capture, on a busy machine. */
const deadlineMs = 240_000;

/** The packages that programs of the guides import. */
const packages = ['@webcapture/client', '@modelcontextprotocol/client'];

/** A fenced code block of a page. */
export interface Block {
  readonly language: string;
  readonly code: string;
  /** The line of its first line in the page. */
  readonly line: number;
}

/**
 * Returns the fenced code blocks of a page in docs, with the addresses of the example sites replaced.
 *
 * @throws if the page has a fence that does not belong to such a block, such as an indented one
 */
export async function blocksOf(path: string, addresses: Readonly<Record<string, string>> = {}): Promise<Block[]> {
  const page = await readFile(join(repository, 'docs', path), 'utf8');
  const found = [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  if (page.match(/^\s*(```|~~~)/gm)?.length !== 2 * found.length)
    throw new Error(`${path} has a block that is not found`);
  return found.map(({ 1: language = '', 2: original = '', index }) => {
    let code = original;
    for (const [example, address] of Object.entries(addresses)) code = code.replaceAll(example, address);
    return { language, code, line: page.slice(0, index).split('\n').length + 1 };
  });
}

/** The folder of a user, with what the guides require: the command line, and the packages that are installed in a project. */
export class Workplace {
  readonly folder: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#env = env;
  }

  /** @param env additional variables, such as BASE and KEY */
  static async create(parent: string, name: string, env: Readonly<Record<string, string>>): Promise<Workplace> {
    const folder = join(parent, name);
    const programs = join(parent, 'programs');
    for (const each of packages) {
      const link = join(folder, 'node_modules', each);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(repository, 'node_modules', each), link);
    }
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    const path = [programs, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':');
    return new Workplace(folder, { PATH: path, HOME: folder, ...env });
  }

  /** Builds the command line as users install it, for all workplaces of a folder. */
  static async installCommandLine(parent: string): Promise<void> {
    const programs = join(parent, 'programs');
    await run(process.execPath, ['services/cli/build.ts', programs], { cwd: repository });
    await symlink('webcapture.mjs', join(programs, 'webcapture'));
  }

  /** Runs a Bash script in the folder. Rejects with the standard error if it fails. */
  async sh(script: string): Promise<string> {
    const options = { cwd: this.folder, env: this.#env, timeout: deadlineMs };
    return (await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], options)).stdout;
  }

  /** The exit code of a Bash script, and what it prints. */
  async exitOf(script: string): Promise<{ readonly code: number; readonly stdout: string }> {
    try {
      return { code: 0, stdout: await this.sh(script) };
    } catch (error) {
      const { code, stdout } = error as { code?: unknown; stdout?: string };
      if (typeof code !== 'number') throw error;
      return { code, stdout: stdout ?? '' };
    }
  }

  /**
   * Runs the blocks of a guide in their order, in one shell: commands unchanged, and programs by the command in their first line. Files such
   * as pages of HTML are written under the name in their first line.
   *
   * @returns the standard output of each block that runs
   * @throws if a block fails, or is none that runs
   */
  async runBlocks(blocks: readonly Block[]): Promise<string[]> {
    const outputs: string[] = [];
    // A program that a guide starts in the background ends with the script, also if a command fails.
    const script = ["trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"];
    for (const { language, code, line } of blocks) {
      const command = language === 'sh' ? code : await this.#write(language, code);
      if (command === null) throw new Error(`line ${line}: the ${language} block does not say how to use it`);
      const output = `output-${outputs.length}`;
      outputs.push(output);
      script.push(`echo 'line ${line}' >&2; exec > ${output}`, command);
    }
    await this.sh(script.join('\n'));
    return Promise.all(outputs.map((output) => readFile(join(this.folder, output), 'utf8')));
  }

  /** Checks the types of the programs that were written. Rejects with what the compiler prints. */
  async checkTypes(): Promise<void> {
    const programs = (await readdir(this.folder)).filter((file) => file.endsWith('.ts'));
    if (programs.length === 0) return;
    const types = ['--types', 'node', '--typeRoots', join(repository, 'node_modules/@types')];
    const modules = ['--target', 'es2024', '--module', 'nodenext', '--allowImportingTsExtensions', '--skipLibCheck'];
    const compiler = join(repository, 'node_modules/.bin/tsc');
    const args = ['--ignoreConfig', '--noEmit', '--strict', ...modules, ...types, ...programs];
    await run(compiler, args, { cwd: this.folder }).catch(({ stdout }: { stdout: string }) => {
      throw new Error(stdout);
    });
  }

  /** Writes the file that a block shows, and returns the command that runs it: for a file that is not a program, one that does nothing. */
  async #write(language: string, code: string): Promise<string | null> {
    const [, program, command] = /^\/\/ (\S+\.ts): (.*)\n/.exec(code) ?? [];
    const [, page] = /^<!-- (\S+\.html) -->\n/.exec(code) ?? [];
    const file = language === 'ts' ? program : language === 'html' ? page : undefined;
    if (file === undefined) return null;
    await writeFile(join(this.folder, file), code);
    return command ?? 'true';
  }

  /** The search path of programs. */
  get path(): string {
    return this.#env['PATH'] ?? '';
  }

  read(file: string): Promise<Buffer> {
    return readFile(join(this.folder, file));
  }
}
