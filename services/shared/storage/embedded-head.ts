import { randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import { contentTag } from './content-tag.ts';
import type { ListedFile, NewFile, StoredFile } from './file-store.ts';

/** Bytes of a part: well below the smallest max_payload, and 0.5 ms for a file of 300 KB. */
export const partSize = 256 * 1024;

/** The message that makes parts a file of the embedded store. */
export interface Head extends StoredFile {
  /** The parts belong to one writing of the file, and are numbered from 0. */
  readonly generation: string;
  readonly parts: number;
  /** What this file replaced: its parts are kept until the next replacement, for those who are reading them. */
  readonly previousGeneration?: string;
}

/** The head of a file that is about to be written, with a generation of its own. */
export function newHead(file: NewFile, previous?: Head): Head {
  const { name, bytes, contentType, expiresAt, width, height, cacheSeconds } = file;
  return {
    name,
    contentType,
    size: bytes.length,
    etag: contentTag(bytes),
    storedAt: Date.now(),
    expiresAt,
    width,
    height,
    ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    generation: randomUUID(),
    parts: Math.ceil(bytes.length / partSize),
    ...(previous === undefined ? {} : { previousGeneration: previous.generation }),
  };
}

/** The head that a message holds, unless its file has expired. */
export function headOf(message: StoredMsg | null): Head | null {
  if (message === null || message.data.length === 0) return null;
  const head = message.json<Head>();
  return head.expiresAt <= Date.now() ? null : head;
}

/** As a listing shows the file of a head that is there. */
export function listedFileOf(message: StoredMsg): ListedFile {
  const { name, size, storedAt, expiresAt } = message.json<Head>();
  return { name, size, storedAt, expiresAt };
}

export const ttlSecondsOf = ({ expiresAt }: Head) => Math.max(1, Math.ceil((expiresAt - Date.now()) / 1000));

/** A file name holds one dot; in a subject it would part two tokens. */
const token = (name: string) => name.replaceAll('.', '_');

export const headSubject = (name: string) => `files.head.${token(name)}`;

/** The subjects of all heads. */
export const headsFilter = 'files.head.*';

export const partSubject = ({ name, generation }: Pick<Head, 'name' | 'generation'>, part: number) =>
  `files.part.${token(name)}.${generation}.${part}`;

/** The subjects of all parts of a writing, or of all writings of a file. */
export const partsFilter = (name: string, generation?: string) =>
  generation === undefined ? `files.part.${token(name)}.>` : `files.part.${token(name)}.${generation}.*`;
