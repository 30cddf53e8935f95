import { expect } from 'vitest';
import { type Guide, pictureOf } from './guide.ts';

export const openGraphImages: Guide = {
  name: 'open-graph-images',
  promise: 'prints a tag with a link that shows the title, and costs one token',
  site: (place) => (request, response) => {
    const file = request.url?.startsWith('/og.html?') === true ? 'og.html' : 'none';
    place.read(file).then(
      (page) => response.writeHead(200, { 'content-type': 'text/html' }).end(page),
      () => response.writeHead(404).end(),
    );
  },
  async check({ place, outputs, tokens }) {
    const [, link = ''] = /^<meta property="og:image" content="(\S+)" \/>\n$/.exec(outputs[2] ?? '') ?? [];
    expect(link).toMatch(/^http:\S+\/capture\?\S+&amp;signature=[0-9a-f]{64}$/);
    const picture = await pictureOf(place, 'og.png');
    expect([picture.format, picture.size]).toEqual(['png', '1200x630']);
    // The title covers a part of the background of the template.
    expect(picture.share('#1e4f8f')).toBeGreaterThan(0.7);
    expect(picture.share('#ffffff', 40)).toBeGreaterThan(0.02);
    const again = await fetch(link.replaceAll('&amp;', '&'));
    const [, maxAge] = /max-age=(\d+)/.exec(again.headers.get('cache-control') ?? '') ?? [];
    expect(Number(maxAge)).toBeGreaterThan(29 * 86_400);
    expect(Buffer.from(await again.arrayBuffer()).equals(picture.bytes)).toBe(true);
    expect(await tokens()).toBe(1);
  },
};
