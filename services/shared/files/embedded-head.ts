import type { StoredMsg } from '@nats-io/jetstream';
import type { Region } from '../runtime/regions.ts';
import type { StoredFile } from './file-store.ts';
import { prefixed } from '../nats/streams.ts';

/** Parts outlive their head by this, so that a reading that has begun can end. */
export const partGraceSeconds = 300;

/** Where the parts of one writing of a file are; they are numbered from 0. */
export interface PartsLocation {
  /** Of the renderer that wrote them. */
  readonly region: Region;
  readonly object: string;
  /** One writing's own. */
  readonly generation: string;
}

/** The message that makes parts a file of the embedded store. */
export interface Head extends StoredFile {
  readonly parts: number;
  readonly location: PartsLocation;
  /** What this file replaced: its parts are kept until the next replacement, for those who are reading them. */
  readonly previous?: PartsLocation | undefined;
}

/** The head that a message holds, unless its file has expired by `now`. */
export function headOf(message: StoredMsg | null, now: number): Head | null {
  if (message === null || message.data.length === 0) return null;
  const head = message.json<Head>();
  return head.expiresAt <= now ? null : head;
}

/** A file name holds one dot; in a subject it would part two tokens. */
const token = (name: string) => name.replaceAll('.', '_');

/**
 * The subjects of a file's heads. Messages cannot be overwritten, so each replacement has a new subject with the next
 * number. The last one written is valid, and older ones are purged.
 */
export const headVersions = (name: string) => prefixed(`files.head.${token(name)}.*`);

export const headSubject = (name: string, version: number) => prefixed(`files.head.${token(name)}.${version}`);

/** The number of a head by its subject. */
export const versionOf = (subject: string) => Number(subject.split('.')[3]);

const partsPrefix = ({ region, object }: Pick<PartsLocation, 'region' | 'object'>) =>
  prefixed(`files.part.${region}.${token(object)}`);

export const partSubject = (location: PartsLocation, part: number) =>
  `${partsPrefix(location)}.${location.generation}.${part}`;

/** The subjects of the parts of one writing. */
export const partsFilter = (location: PartsLocation) => `${partsPrefix(location)}.${location.generation}.*`;

/** The subjects of all parts of an object. */
export const objectFilter = (location: Pick<PartsLocation, 'region' | 'object'>) => `${partsPrefix(location)}.>`;

/** The same in all regions. */
export const objectFilterOfAllRegions = (object: string) => prefixed(`files.part.*.${token(object)}.>`);

export const isSameLocation = (a: PartsLocation | undefined, b: PartsLocation) =>
  a?.region === b.region && a?.object === b.object && a?.generation === b.generation;

/** A {@link PartsLocation} as an upload names it, with the number of parts. */
export const uploadObject = ({ region, object, generation }: PartsLocation, parts: number) =>
  `${region}/${object}/${generation}/${parts}`;

const generationPattern = /^[0-9a-f-]{36}$/;

/** Null when an upload names none. What it names need not be there. */
export function parseUploadObject(text: string, expected: { region: Region; object: string }) {
  const [region, object, generation = '', parts = '', ...rest] = text.split('/');
  if (region !== expected.region || object !== expected.object || rest.length > 0) return null;
  if (!generationPattern.test(generation) || !/^[1-9]\d{0,5}$/.test(parts)) return null;
  return { location: { region: expected.region, object: expected.object, generation }, parts: Number(parts) };
}
