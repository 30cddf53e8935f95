import type { EnvReader } from './env.ts';

/** An environment variable: its parser, and its description in docs/configuration.md. */
export interface Variable<T = unknown> {
  readonly name: string;
  /** Description of the accepted values. */
  readonly type: string;
  /** Description of the default; empty if there is none. */
  readonly defaultText: string;
  readonly meaning: string;
  /** Reads the value. `fallback` replaces a default that depends on another variable. */
  read(env: EnvReader, fallback?: T): T;
}

interface Description {
  /** Markdown, one or more whole sentences. */
  readonly meaning: string;
  /** Description of a default that depends on the machine or on another variable. */
  readonly defaultText?: string;
}

interface WithDefault<T> extends Description {
  readonly default: T;
}

interface IntegerRange extends WithDefault<number> {
  readonly min: number;
  readonly max?: number;
  readonly unit?: string;
  /** Returns the number that is used if the variable is `auto`. Without this function, `auto` is invalid. */
  readonly auto?: () => number;
}

export function integerVariable(name: string, spec: IntegerRange): Variable<number> {
  const { min, max, unit, auto } = spec;
  const range = max === undefined ? `${min} or more` : `${min} to ${max}`;
  const type = ['integer', ...(unit === undefined ? [] : [unit]), range, ...(auto ? ['or `auto`'] : [])].join(', ');
  return variable(name, type, spec, (value) =>
    value === 'auto' && auto
      ? auto()
      : parseInteger(value, min, max ?? Number.MAX_SAFE_INTEGER, auto ? ' or auto' : ''),
  );
}

export function portVariable(name: string, spec: WithDefault<number>): Variable<number> {
  return variable(name, 'port', spec, (value) => parseInteger(value, 0, 65_535));
}

function parseInteger(value: string, min: number, max: number, orElse = ''): number {
  const number = Number(value);
  if (/^-?\d+$/.test(value) && number >= min && number <= max) return number;
  throw new Error(`must be an integer from ${min} to ${max}${orElse}, not "${value}"`);
}

export function choiceVariable<const T extends readonly string[]>(
  name: string,
  values: T,
  spec: WithDefault<T[number]>,
): Variable<T[number]> {
  return variable(name, values.map((value) => `\`${value}\``).join(', '), spec, (value) => {
    if (values.includes(value)) return value;
    throw new Error(`must be one of ${values.join(', ')}, not "${value}"`);
  });
}

/** An absolute http or https address; a slash at its end is removed. */
export function urlVariable(name: string, spec: WithDefault<string>): Variable<string> {
  return variable(name, 'http or https address', spec, (value) => {
    if (['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '')) return value.replace(/\/+$/, '');
    throw new Error(`must be an absolute http or https address, not "${value}"`);
  });
}

export function textVariable(name: string, spec: WithDefault<string>): Variable<string> {
  return variable(name, 'string', spec, (value) => value);
}

/** An optional string; undefined if the variable is not set. */
export function optionalVariable(name: string, spec: Description): Variable<string | undefined> {
  return variable(name, 'string', { ...spec, default: undefined }, (value) => value);
}

/** A string of at least `minLength` characters. No message shows its value. */
export function secretVariable(
  name: string,
  spec: Description & { readonly minLength: number },
): Variable<string | undefined> {
  const { minLength } = spec;
  return variable(name, `string, ${minLength} characters or more`, { ...spec, default: undefined }, (value) => {
    if (value.length >= minLength) return value;
    throw new Error(`must have at least ${minLength} characters`);
  });
}

/**
 * Declares a variable whose value `parse` converts from a text; the default is converted too. `parse` throws an Error whose message is the
 * violated rule.
 */
export function parsedVariable<T>(
  name: string,
  spec: WithDefault<string> & { readonly type: string; readonly parse: (value: string) => T },
): Variable<T> {
  const { meaning, defaultText = inCode(spec.default), type, parse } = spec;
  return variable(name, type, { meaning, defaultText, default: parse(spec.default) }, parse);
}

/** @param parse throws an Error whose message is the violated rule; the default is used then */
function variable<T>(name: string, type: string, spec: WithDefault<T>, parse: (text: string) => T): Variable<T> {
  const { meaning, defaultText = inCode(spec.default) } = spec;
  return {
    name,
    type,
    meaning,
    defaultText,
    read(env, fallback = spec.default) {
      const text = env.string(name);
      if (text === undefined) return fallback;
      try {
        return parse(text);
      } catch (error) {
        env.problem(name, (error as Error).message);
        return fallback;
      }
    },
  };
}

const inCode = (value: unknown) =>
  typeof value === 'number' || (typeof value === 'string' && value !== '') ? `\`${value}\`` : '';
