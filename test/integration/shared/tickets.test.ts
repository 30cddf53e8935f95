import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { seemsInteractive, ticketOf, Tickets, type Ticket } from '@webcapture/shared/queue/tickets.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const newTicket = (changes: Partial<Ticket> = {}): Ticket => ({
  account: 'acme',
  uuid: randomUUIDv7(),
  revision: 0,
  region: 'us-east',
  object: 'a-file.png',
  ...changes,
});

test('services that first sign at the same time share one secret, and open the tickets of each other', async () => {
  await new Entries(nats.session, 'db').delete('secret.tickets');
  const services = await Promise.all([1, 2, 3, 4].map(async () => new Tickets(await nats.connect())));
  const tickets = services.map(() => newTicket());
  const signed = await Promise.all(services.map((service, index) => service.sign(tickets[index] ?? newTicket())));
  for (const service of services) {
    expect(await Promise.all(signed.map((each) => service.open(each)))).toEqual(tickets);
  }
});

test('many tickets that reach a newly started service at once are all accepted', async () => {
  const signer = new Tickets(nats.session);
  const signed = await Promise.all(Array.from({ length: 20 }, () => signer.sign(newTicket())));
  const fresh = new Tickets(nats.session);
  // The first ticket that is opened is forged.
  const opened = await Promise.all(['forged.ticket', ...signed].map((each) => fresh.open(each)));
  expect(opened.map((ticket) => ticket !== null)).toEqual([false, ...signed.map(() => true)]);
  // The same happens after a reconnection.
  fresh.forget();
  const again = await Promise.all(['forged.ticket', ...signed].map((each) => fresh.open(each)));
  expect(again.filter((ticket) => ticket !== null)).toHaveLength(20);
});

test('forged or altered tickets are not opened', async () => {
  const tickets = new Tickets(nats.session);
  const signed = await tickets.sign(newTicket());
  const [body = '', signature = ''] = signed.split('.');
  const dearer = Buffer.from(JSON.stringify(newTicket({ account: 'victim' }))).toString('base64url');
  const other = (await tickets.sign(newTicket())).split('.')[1] ?? '';
  const forgeries = [
    '',
    '.',
    '..',
    'nonsense',
    body,
    `${body}.`,
    `.${signature}`,
    `${body}.${signature}.`,
    `${body}.${signature}.more`,
    `${body}.${signature.slice(0, -1)}`,
    `${body}.${signature}A`,
    `${body}.${other}`,
    `${dearer}.${signature}`,
    `${body}.${randomBytes(32).toString('base64url')}`,
    `${body}\n.${signature}`,
    'ä'.repeat(65_536),
  ];
  for (const forgery of forgeries) expect(await tickets.open(forgery), forgery.slice(0, 200)).toBeNull();
  expect(await tickets.open(signed)).not.toBeNull();
});

test('thousands of forged tickets cause at most one read of the secret per second', async () => {
  const session = await nats.connect();
  const tickets = new Tickets(session);
  await tickets.sign(newTicket());
  const before = session.nc.stats().outMsgs;
  const start = performance.now();
  for (let count = 0; count < 10_000; count++) expect(await tickets.open(`${count}.forged`)).toBeNull();
  expect(session.nc.stats().outMsgs - before).toBeLessThanOrEqual(1 + (performance.now() - start) / 1000);
});

test('after the server lost its data, new tickets are opened and old ones are not', async () => {
  const [one, other] = [new Tickets(nats.session), new Tickets(nats.session)];
  const old = await one.sign(newTicket());
  expect(await other.open(old)).not.toBeNull();
  await new Entries(nats.session, 'db').delete('secret.tickets');
  one.forget();
  other.forget();
  const wanted = newTicket();
  const signed = await one.sign(wanted);
  expect(await other.open(signed)).toEqual(wanted);
  expect(await other.open(old)).toBeNull();
});

test('the content of a ticket can be read without a check of its signature', async () => {
  const tickets = new Tickets(nats.session);
  const draft = newRecord();
  const interactive = newTicket({ draft });
  const signed = await tickets.sign(interactive);
  expect(ticketOf({ ticket: signed })).toEqual(interactive);
  expect([signed, await tickets.sign(newTicket()), 'nonsense', ''].map(seemsInteractive)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
