import { createSocket } from 'node:dgram';
import { once } from 'node:events';

interface Answer {
  readonly A?: readonly string[];
  readonly AAAA?: readonly string[];
  /** Canonical name of which this name is an alias. The addresses belong to the canonical name. */
  readonly CNAME?: string;
  /** Answer from the second query of a type on. */
  readonly later?: Answer;
  readonly silent?: 'all' | 'AAAA';
}

/** A name server on loopback. Names without an answer do not exist. */
export interface DnsServer {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Queries in order, as `name type`. */
  readonly asked: readonly string[];
  close(): void;
}

/** Starts a name server that answers from a table. */
export async function startDnsServer(names: Readonly<Record<string, Answer>>): Promise<DnsServer> {
  const asked: string[] = [];
  const identities = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = parseQuestion(query);
    // A slow client may repeat a query with the same id. It counts once.
    const identity = `${query.readUInt16BE(0)} ${name} ${type}`;
    if (!identities.has(identity)) asked.push(`${name} ${type}`);
    identities.add(identity);
    const again = asked.filter((one) => one === `${name} ${type}`).length > 1;
    const answer = (again ? names[name]?.later : undefined) ?? names[name];
    if (answer?.silent === 'all' || answer?.silent === type) return;
    const addresses = (type === 'A' ? answer?.A : type === 'AAAA' ? answer?.AAAA : undefined) ?? [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8580 | (answer ? 0 : 3), 2);
    header.writeUInt16BE(1, 4);
    const alias = answer?.CNAME === undefined ? [] : [record(question, 5, encodeName(answer.CNAME))];
    const owner = answer?.CNAME === undefined ? question : encodeName(answer.CNAME);
    const records = [...alias, ...addresses.map((address) => addressRecord(owner, address))];
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}

function parseQuestion(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const code = query.readUInt16BE(at + 1);
  return {
    name: labels.join('.').toLowerCase(),
    type: code === 1 ? 'A' : code === 28 ? 'AAAA' : `${code}`,
    end: at + 5,
  };
}

/** A pointer to the name in the query. */
const question = Buffer.from([0xc0, 0x0c]);

function encodeName(name: string): Buffer {
  return Buffer.from(
    name
      .split('.')
      .map((label) => String.fromCharCode(label.length) + label)
      .join('') + '\0',
    'latin1',
  );
}

function addressRecord(owner: Buffer, address: string): Buffer {
  return address.includes(':')
    ? record(
        owner,
        28,
        Buffer.from(address.split(':').flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 0xff])),
      )
    : record(owner, 1, Buffer.from(address.split('.').map(Number)));
}

/** A record with a time to live of 0, so that it is not cached. */
function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, head, data]);
}
