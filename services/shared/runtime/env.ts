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

  /** The value as it is; undefined when the variable is not set at all. */
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

  /** A secret of at least `minLength` characters; never printed. */
  secret(name: string, minLength: number): string | undefined {
    const value = this.#value(name);
    if (value !== undefined && value.length < minLength) {
      this.problem(name, `must have at least ${minLength} characters`);
    }
    return value;
  }

  integer(name: string, fallback: number, bounds: { min: number; max: number }): number {
    const value = this.#value(name);
    if (value === undefined) return fallback;
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < bounds.min || number > bounds.max) {
      this.problem(name, `must be an integer from ${bounds.min} to ${bounds.max}, not "${value}"`);
      return fallback;
    }
    return number;
  }

  port(name: string, fallback: number): number {
    return this.integer(name, fallback, { min: 0, max: 65_535 });
  }

  oneOf<const T extends readonly string[]>(name: string, values: T, fallback: T[number]): T[number] {
    const value = this.#value(name);
    if (value === undefined) return fallback;
    if (!values.includes(value)) this.problem(name, `must be one of ${values.join(', ')}, not "${value}"`);
    return value;
  }

  /** An absolute http or https address without a slash at its end. */
  httpUrl(name: string, fallback: string): string {
    const value = this.#value(name);
    if (value === undefined) return fallback;
    const url = URL.parse(value);
    if (url === null || !['http:', 'https:'].includes(url.protocol)) {
      this.problem(name, `must be an absolute http or https address, not "${value}"`);
      return fallback;
    }
    return value.replace(/\/+$/, '');
  }

  /** A value that `parse` understands; what it throws becomes the rule that was broken. */
  parsed<T>(name: string, fallback: string, parse: (value: string) => T): T | undefined {
    try {
      return parse(this.#value(name) ?? fallback);
    } catch (error) {
      this.problem(name, error instanceof Error ? error.message : String(error));
      return undefined;
    }
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
