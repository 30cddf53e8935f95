/** The resources that the commands of a page have created so far in a project, and the faults of the commands. */
export class Project {
  readonly faults: string[] = [];
  readonly #made = new Map<string, Map<string, number>>();
  #line = 0;

  atLine(line: number): void {
    this.#line = line;
  }

  fault(message: string): void {
    this.faults.push(`line ${this.#line}: ${message}`);
  }

  make(kind: string, name: string): void {
    if (this.has(kind, name)) this.fault(`the ${kind} ${name} exists already`);
    this.note(kind, name);
  }

  /** Like make, but for resources that may be created repeatedly, such as a binding. */
  note(kind: string, name: string): void {
    const names = this.#made.get(kind) ?? new Map<string, number>();
    this.#made.set(kind, names.set(name, this.#line));
  }

  has(kind: string, name: string): boolean {
    return this.#made.get(kind)?.has(name) ?? false;
  }

  names(kind: string): string[] {
    return [...(this.#made.get(kind)?.keys() ?? [])];
  }

  need(kind: string, name: string): void {
    if (!this.has(kind, name)) this.fault(`no command before made the ${kind} ${name}`);
  }

  remove(kind: string, name: string): void {
    this.need(kind, name);
    this.#made.get(kind)?.delete(name);
  }
}

/** The words of a command without its flags. */
interface Command {
  readonly words: readonly string[];
  /** The values of each flag, without hyphens; a switch has the value ''. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/**
 * Separates the flags of a command from its words.
 *
 * @param known Flags that the command has; those that end with = take a value.
 */
export function parseCommand(
  args: readonly string[],
  known: readonly string[],
  unknown: (flag: string) => void,
): Command {
  const words: string[] = [];
  const flags = new Map<string, string[]>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    const [, name, value] = /^--?([a-z][a-zA-Z0-9-]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) {
      words.push(arg);
      continue;
    }
    const takesValue = known.includes(`${name}=`);
    if (!takesValue && !known.includes(name)) unknown(name);
    const given = takesValue ? (value ?? args[++index] ?? '') : '';
    flags.set(name, [...(flags.get(name) ?? []), given]);
  }
  return { words, flags };
}
