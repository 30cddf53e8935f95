import { InvalidArgumentError } from 'commander';

/** Reads the value of a flag. */
export const integer = (min: number, max: number) => (text: string) => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
};
