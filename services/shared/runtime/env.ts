/** Thrown for an invalid configuration. The message contains all invalid variables with the violated rules. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads typed values from an environment and collects all problems, so that operators see all of them at once. An empty
 * value counts as not set, except in `raw`.
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

  /** Freezes and returns `config`, or throws a {@link ConfigError} with all problems. */
  finish<T extends object>(config: () => T): Readonly<T> {
    // The configuration is built first, because this may read further variables.
    const built = config();
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
    return Object.freeze(built);
  }

  #value(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === '' ? undefined : value;
  }
}
