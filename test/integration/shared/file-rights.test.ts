import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { extractedType } from '@webcapture/shared/api/formats.ts';
import { packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import type { StoredFile, Upload } from '@webcapture/shared/files/file-store.ts';
import { storeHtml, removeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { startNats, type NatsServer } from '../../../deploy/local/nats.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { asRefresh, expectedOf, placeFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { bytesOf, part } from './support/stored-files.ts';
import { provision } from '../../../services/controller/streams.ts';

/** All rights to files that the renderers of a region need. */
const rights = (region: string) => ({
  publish: { allow: [`files.part.${region}.>`, `$JS.API.DIRECT.GET.FILES.files.html.${region}.>`] },
  subscribe: { allow: ['_INBOX.renderer.>'] },
});

let server: NatsServer;
let trusted: NatsSession;
let renderer: NatsSession;
let store: EmbeddedStore;
let uploader: EmbeddedUploader;
beforeAll(async () => {
  const users = [
    { user: 'renderer', password: 'secret', permissions: rights('us-east') },
    { user: 'trusted', password: 'trusted' },
  ];
  server = await startNats({
    dataDir: await mkdtemp(join(inject('tempFolder'), 'file-rights-')),
    toolPath: inject('tools').natsServer,
    config: `authorization: ${JSON.stringify({ users })}`,
  });
  const connect = (user: string, password: string) =>
    connectNats({
      url: server.url,
      user,
      password,
      inboxPrefix: `_INBOX.${user}`,
      name: 'test',
      log: silentLog,
      signal: AbortSignal.timeout(30_000),
    });
  [trusted, renderer] = await Promise.all([connect('trusted', 'trusted'), connect('renderer', 'secret')]);
  await provision(trusted.jsm, streamSettings, ['us-east', 'eu-west']);
  store = new EmbeddedStore(trusted);
  uploader = new EmbeddedUploader(renderer);
});
afterAll(async () => {
  await Promise.all([trusted, renderer].map(({ nc }) => nc.close()));
  await server.process.stop({ graceMs: 2000 });
});

const soon = () => Date.now() + 60_000;
const refused = async (call: () => Promise<unknown>) => {
  await expect(call()).rejects.toThrow(/permissions violation/i);
};

/** Puts a file of a renderer in place; returns it with the subjects of its messages. */
async function placed() {
  const file = newFile(2 * part);
  const { file: found } = await placeFile({ store, uploader }, file);
  const token = file.name.replace('.', '_');
  const { state } = await trusted.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  const subjects = Object.keys(state.subjects ?? {}).filter((subject) => subject.includes(token));
  return { file, found, parts: subjects.filter((subject) => subject.startsWith('files.part.')), subjects };
}

describe('the user of the renderers of a region', () => {
  test('uploads extracted content, and can neither read nor remove it', async () => {
    const file = newFile(0, { bytes: await packExtracted({ text: 'a text' }) });
    const name = extractedName(file.name);
    await placeFile({ store, uploader }, { ...file, name, object: name, contentType: extractedType });
    expect(await readExtracted(store, { fileName: file.name, format: 'png' }, {})).toEqual({ text: 'a text' });
    const head = `files.head.${name.replaceAll('.', '_')}`;
    await refused(() => renderer.jsm.direct.getMessage(streamNames.files, { last_by_subj: `${head}.1` }));
    await refused(() => renderer.jsm.streams.purge(streamNames.files, { filter: `${head}.*` }));
    await refused(() => renderer.js.publish(`${head}.2`, '{}'));
  });

  test('uploads files that a trusted service puts in place unchanged', async () => {
    const { file, found, parts } = await placed();
    expect(parts).toHaveLength(2);
    expect((await bytesOf(store, found)).equals(file.bytes)).toBe(true);
    const next = newFile(part, { name: file.name });
    const refreshed = await placeFile({ store, uploader }, asRefresh(next));
    expect((await bytesOf(store, refreshed.file)).equals(next.bytes)).toBe(true);
  });

  test('reads HTML of many parts in its own region, and no other HTML', async () => {
    const html = 'x'.repeat(600_000);
    await storeHtml(trusted, { region: 'us-east', name: 'here' }, html, soon());
    await storeHtml(trusted, { region: 'eu-west', name: 'there' }, html, soon());
    expect(await readHtml(renderer, { region: 'us-east', name: 'here' }, 'by-subject')).toBe(html);
    const direct = (subject: string) => () =>
      renderer.jsm.direct.getMessage(streamNames.files, { last_by_subj: subject });
    await refused(direct('files.html.eu-west.there.head'));
    await expect(readHtml(renderer, { region: 'us-east', name: 'here' })).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    });
    await refused(() => removeHtml(renderer, 'here'));
    await expect(storeHtml(renderer, { region: 'us-east', name: 'mine' }, html, soon())).rejects.toThrow();
  });

  test('cannot write a part a second time with any headers', async () => {
    const { file, parts } = await placed();
    const [first = ''] = parts;
    const rollup = (kind: string) => {
      const fields = headers();
      fields.set('Nats-Rollup', kind);
      return { headers: fields };
    };
    const sequence = (await trusted.jsm.streams.getMessage(streamNames.files, { last_by_subj: first }))?.seq ?? 0;
    for (const options of [
      {},
      rollup('sub'),
      rollup('all'),
      { ttl: '1s' },
      { expect: { lastSubjectSequence: sequence } },
      { msgID: 'another' },
    ]) {
      await expect(renderer.js.publish(first, 'other bytes', options)).rejects.toThrow(
        /per subject|rollup not permitted/,
      );
    }
    await expect(renderer.js.publish(first.replace(/0$/, '7'), 'x', rollup('all'))).rejects.toThrow(
      /rollup not permitted/,
    );
    expect((await bytesOf(store, (await store.stat(file.name)) as StoredFile)).equals(file.bytes)).toBe(true);
  });

  test('cannot write heads, HTML, or parts of another region', async () => {
    const { file } = await placed();
    const token = file.name.replace('.', '_');
    for (const subject of [`files.head.${token}.2`, 'files.html.us-east.x.head', `files.part.eu-west.${token}.x.0`]) {
      await refused(() => renderer.js.publish(subject, '{}'));
    }
  });

  test('cannot read, list or remove files, or use the API of the stream', async () => {
    const { file, found, subjects } = await placed();
    const own = new EmbeddedStore(renderer);
    for (const call of [
      () => own.stat(file.name),
      () => own.remove(file.name),
      () => bytesOf(own, found),
      () => own.accept({ ...found, object: 'x' } as Upload, expectedOf(file)),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    }
    for (const subject of subjects) {
      await refused(() => renderer.jsm.direct.getMessage(streamNames.files, { last_by_subj: subject }));
      await refused(() => renderer.jsm.streams.getMessage(streamNames.files, { last_by_subj: subject }));
    }
    for (const api of [
      'STREAM.INFO',
      'STREAM.PURGE',
      'STREAM.MSG.DELETE',
      'STREAM.MSG.GET',
      'STREAM.UPDATE',
      'STREAM.DELETE',
      'CONSUMER.CREATE',
      'DIRECT.GET',
    ]) {
      await refused(() => renderer.nc.request(`$JS.API.${api}.FILES`, '{}', { timeout: 20_000 }));
    }
    expect(await store.stat(file.name)).toEqual(found);
  });

  test.each(['files.>', '_INBOX.>', '_INBOX.trusted.>'])('cannot subscribe to %s', async (subject) => {
    const heard = new Promise<Error | null>((resolve) => {
      renderer.nc.subscribe(subject, { callback: (error) => resolve(error) });
    });
    expect(String(await heard)).toMatch(/permissions violation/i);
  });
});

test('a result that is sent on the same connection as its file finds the whole file', async () => {
  for (let round = 0; round < 20; round++) {
    const file = newFile(4 * part + round);
    const { sent, stored } = uploader.upload(file);
    // The front also gets the result at once, before the parts are acknowledged.
    const accepted = await store.accept(await sent, expectedOf(file));
    expect(accepted.file.size).toBe(file.bytes.length);
    await stored;
  }
});

test('reads during refreshes always find a file, and never mix two versions', { tags: 'long' }, async () => {
  const { file, found } = await placed();
  const known = new Map([[found.etag, file.bytes]]);
  let done = false;
  let reads = 0;
  const reading = (async () => {
    for (; !done; reads++) {
      const shown = await store.stat(file.name);
      if (shown === null) throw new Error('there is no file');
      const bytes = await bytesOf(store, shown).catch((error: unknown) => error);
      if (Buffer.isBuffer(bytes)) expect(known.get(shown.etag)?.equals(bytes)).toBe(true);
      else expect(bytes).toMatchObject({ name: 'FileReplacedError' });
    }
  })();
  for (let turn = 0; turn < 20 || reads < 20; turn++) {
    const refresh = asRefresh(newFile(3 * part + turn, { name: file.name }));
    const upload = await uploader.upload(refresh).stored;
    known.set(upload.etag, refresh.bytes);
    await store.accept(upload, expectedOf(refresh));
    await store.discard(file.name, upload);
  }
  done = true;
  await reading;
});
