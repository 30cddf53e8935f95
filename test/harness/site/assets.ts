import sharp from 'sharp';
import type { Exchange, Routes } from './exchange.ts';

/** Never responds; the connection stays open until one side closes it. */
function hang(_exchange: Exchange): void {}

/** Waits for `delay` milliseconds. */
async function delayed(exchange: Exchange): Promise<void> {
  await exchange.wait(exchange.number('delay'));
}

/** Resources of pages. Each waits for `delay` milliseconds first. */
export const assets = {
  /** A picture of one color: c, w, h. */
  '/asset/image': async (exchange) => {
    await delayed(exchange);
    exchange.send('image/png', await image(exchange));
  },
  /** The same picture, held until the test releases it. */
  '/asset/held': async (exchange) => {
    await exchange.released;
    exchange.send('image/png', await image(exchange));
  },
  '/asset/missing': (exchange) => exchange.send('text/plain', 'not here', 404),
  '/asset/hang': hang,
  '/asset/style': async (exchange) => {
    await delayed(exchange);
    exchange.send('text/css', exchange.text('css'));
  },
  '/asset/script': async (exchange) => {
    await delayed(exchange);
    exchange.send('text/javascript', exchange.text('js'));
  },
  '/asset/json': async (exchange) => {
    await delayed(exchange);
    exchange.send('application/json', '{}');
  },
  /** Sends `size` bytes that have no file format. */
  '/asset/bytes': (exchange) => exchange.send('application/octet-stream', Buffer.alloc(exchange.number('size'), 1)),
  /** Receives a page's report about itself, as a picture that the page's load event waits for. */
  '/asset/beacon': async (exchange) => exchange.send('image/png', await image(exchange)),
  '/asset/media': (exchange) => exchange.send(exchange.text('type', 'audio/wav'), silence()),
  '/favicon.ico': (exchange) => exchange.send('text/plain', '', 404),
} satisfies Routes;

function image(exchange: Exchange): Promise<Buffer> {
  const background = `#${exchange.text('c', '0000ff')}`;
  const size = { width: exchange.number('w', 10), height: exchange.number('h', 10) };
  return sharp({ create: { ...size, channels: 3, background } })
    .png()
    .toBuffer();
}

/** A second of silence as WAV, 8 kHz, 8 bits. */
function silence(): Buffer {
  const samples = Buffer.alloc(8000, 128);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
