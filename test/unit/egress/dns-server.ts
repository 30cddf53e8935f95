import { createSocket } from 'node:dgram';
import { once } from 'node:events';

type Answer = { readonly A?: readonly string[]; readonly AAAA?: readonly string[]; readonly silent?: 'all' | 'AAAA' };

/** A name server on loopback. Names that it does not know do not exist. */
export interface DnsServer {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** What was asked, `name type`, in order. */
  readonly asked: readonly string[];
  close(): void;
}

/** Starts a name server that answers from a table. */
export async function startDnsServer(names: Readonly<Record<string, Answer>>): Promise<DnsServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = parseQuestion(query);
    asked.push(`${name} ${type}`);
    const answer = names[name];
    if (answer?.silent === 'all' || answer?.silent === type) return;
    const addresses = (type === 'A' ? answer?.A : type === 'AAAA' ? answer?.AAAA : undefined) ?? [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8580 | (answer ? 0 : 3), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((address) => record(address));
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

function record(address: string): Buffer {
  const data = address.includes(':')
    ? Buffer.from(address.split(':').flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 0xff]))
    : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(data.length === 16 ? 28 : 1, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
