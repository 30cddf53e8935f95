import type { EnvReader } from './env.ts';

/** An environment variable: how it is read, and what docs/configuration.md says about it. */
export interface Variable<T = unknown> {
  readonly name: string;
  /** The values that it takes, in words. */
  readonly type: string;
  /** Its default, in words; empty when there is none. */
  readonly defaultText: string;
  readonly meaning: string;
  /** `fallback` stands in for the default where that depends on another variable. */
  read(env: EnvReader, fallback?: T): T;
}

interface Description {
  /** Markdown, one or more whole sentences. */
  readonly meaning: string;
  /** For a default that depends on the machine or on another variable. */
  readonly defaultText?: string;
}

interface WithDefault<T> extends Description {
  readonly default: T;
}

export function integerVariable(
  name: string,
  spec: WithDefault<number> & { readonly min: number; readonly max?: number; readonly unit?: string },
): Variable<number> {
  const { min, max, unit } = spec;
  const range = max === undefined ? `${min} or more` : `${min} to ${max}`;
  return {
    ...described(name, spec),
    type: ['integer', ...(unit === undefined ? [] : [unit]), range].join(', '),
    read: (env, fallback = spec.default) => env.integer(name, fallback, { min, max: max ?? Number.MAX_SAFE_INTEGER }),
  };
}

export function portVariable(name: string, spec: WithDefault<number>): Variable<number> {
  return {
    ...described(name, spec),
    type: 'port',
    read: (env, fallback = spec.default) => env.port(name, fallback),
  };
}

export function choiceVariable<const T extends readonly string[]>(
  name: string,
  values: T,
  spec: WithDefault<T[number]>,
): Variable<T[number]> {
  return {
    ...described(name, spec),
    type: values.map((value) => `\`${value}\``).join(', '),
    read: (env, fallback = spec.default) => env.oneOf(name, values, fallback),
  };
}

/** An absolute http or https address; read without a slash at its end. */
export function urlVariable(name: string, spec: WithDefault<string>): Variable<string> {
  return {
    ...described(name, spec),
    type: 'http or https address',
    read: (env, fallback = spec.default) => env.httpUrl(name, fallback),
  };
}

export function textVariable(name: string, spec: WithDefault<string>): Variable<string> {
  return {
    ...described(name, spec),
    type: 'string',
    read: (env, fallback = spec.default) => env.string(name, fallback),
  };
}

/** A string that is undefined when the variable is not set. */
export function optionalVariable(name: string, spec: Description): Variable<string | undefined> {
  return { ...described(name, spec), type: 'string', read: (env) => env.string(name) };
}

/** A string of at least `minLength` characters that no message shows. */
export function secretVariable(
  name: string,
  spec: Description & { readonly minLength: number },
): Variable<string | undefined> {
  const { minLength } = spec;
  return {
    ...described(name, spec),
    type: `string, ${minLength} characters or more`,
    read: (env) => env.secret(name, minLength),
  };
}

/** Undefined when `parse` throws: the start is refused then. */
export function parsedVariable<T>(
  name: string,
  spec: WithDefault<string> & { readonly type: string; readonly parse: (value: string) => T },
): Variable<T | undefined> {
  return {
    ...described(name, spec),
    type: spec.type,
    read: (env) => env.parsed(name, spec.default, spec.parse),
  };
}

function described(name: string, spec: Description & { readonly default?: string | number }) {
  const { meaning, default: value = '' } = spec;
  return { name, meaning, defaultText: spec.defaultText ?? (value === '' ? '' : `\`${value}\``) };
}
