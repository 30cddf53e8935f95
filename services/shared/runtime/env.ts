/** The start is refused: every variable that is wrong, and the rule that it breaks. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads typed values out of an environment and gathers all that is wrong, so that an operator sees every mistake at
 * once. An empty value counts as not set, but for `raw`.
 */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Returns the unparsed value; undefined when the variable is not set. */
  raw(name: string): string | undefined {
    return this.#env[name];
  }

  string(name: string, fallback: string): string;
  string(name: string, fallback?: undefined): string | undefined;
  string(name: string, fallback?: string): string | undefined {
    return this.#value(name) ?? fallback;
  }

  required(name: string, rule: string): string {
    const value = this.#value(name);
    if (value === undefined) this.problem(name, `must be set: ${rule}`);
    return value ?? '';
  }

  problem(name: string, rule: string): void {
    this.#problems.push(`${name} ${rule}`);
  }

  /** Freezes and returns `config`, or throws a {@link ConfigError} that names every problem met. */
  finish<T extends object>(config: () => T): Readonly<T> {
    // Built first: what is read while it is built may be wrong too.
    const built = config();
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
    return Object.freeze(built);
  }

  #value(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === '' ? undefined : value;
  }
}
