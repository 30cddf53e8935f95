import { randomBytes } from 'node:crypto';
import { formats, type Format } from '../contract/formats.ts';

const fileName = new RegExp(`^[0-9a-f-]{36}-[0-9a-f]{32}\\.(?:${formats.join('|')})$`);

/** The uuid, 128 random bits that nobody can guess, and the extension. */
export function newFileName(uuid: string, format: Format): string {
  return `${uuid}-${randomBytes(16).toString('hex')}.${format}`;
}

/**
 * Another name for an object whose name is taken: by another delivery of the same job, or by an upload whose answer was
 * lost, which a renderer can neither read nor write over.
 */
export const withSuffix = (object: string) => `${object}~${randomBytes(4).toString('hex')}`;

const suffix = /~[0-9a-f]{8}$/;

/** The name of an object as it was asked for, without the suffix that it may have got. */
export const withoutSuffix = (object: string) => object.replace(suffix, '');

/** Whether a name can be one of ours at all. */
export function isFileName(name: string): boolean {
  return fileName.test(name);
}

/** The uuid of the capture that a name of ours belongs to. */
export function uuidOfFileName(name: string): string {
  return name.slice(0, 36);
}
