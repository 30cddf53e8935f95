import { InvalidArgumentError } from 'commander';

/** Returns a parser for an integer flag in a range. */
export const integer = (min: number, max: number) => (text: string) => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
};
