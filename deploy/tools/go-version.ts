import { readFile } from 'node:fs/promises';

/** Returns the version of a module that Go wrote into a binary, because the program has no option for it. */
export async function goVersion(path: string, module: string): Promise<string> {
  const binary = await readFile(path);
  const at = binary.indexOf(`\t${module}\tv`);
  const version = /v(\d+\.\d+\.\d+)/.exec(binary.toString('latin1', at, at + module.length + 32))?.[1];
  if (at < 0 || version === undefined) throw new Error(`${path} does not tell its version`);
  return version;
}
