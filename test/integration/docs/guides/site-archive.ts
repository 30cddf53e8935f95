import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readFacts } from '../../../harness/pdf-facts.ts';
import { type Guide, pictureOf, servePages } from './guide.ts';

const paths = ['/', '/pricing', '/contact'];

interface Manifest {
  readonly captures: readonly { readonly url: string; readonly file: string }[];
}

export const siteArchive: Guide = {
  name: 'site-archive',
  promise: 'saves all pages of a sitemap as pictures, and as PDFs in a zip archive',
  site: () => (request, response) => {
    if (request.url === '/sitemap.xml') {
      const pages = paths.map((path) => `<url><loc>http://${request.headers.host}${path}</loc></url>`);
      response.writeHead(200, { 'content-type': 'application/xml' }).end(`<urlset>${pages.join('')}</urlset>`);
    } else {
      servePages(Object.fromEntries(paths.map((path) => [path, () => `<p>The page ${path}`])))(request, response);
    }
  },
  async check({ place, outputs, siteUrl }) {
    expect(outputs[0]).toBe('3 of 3 captured; archive-2026-11/index.html shows them.\n');
    const index = (await place.read('archive-2026-11/index.html')).toString();
    const files = await readdir(join(place.folder, 'archive-2026-11'));
    const pictures = files.filter((file) => file.endsWith('.jpg'));
    expect(pictures).toHaveLength(3);
    for (const file of pictures) {
      expect(index).toContain(file);
      expect(await pictureOf(place, `archive-2026-11/${file}`)).toMatchObject({ format: 'jpeg', width: 1280 });
    }
    expect(await place.sh('tar -tzf archive-2026-11.tar.gz')).toContain('archive-2026-11/index.html');

    expect(outputs[1]).toBe('3 of 3 pages\n');
    await place.sh('unzip -q archive-2026-11.zip -d pdfs');
    const { captures } = JSON.parse((await place.read('pdfs/manifest.json')).toString()) as Manifest;
    expect(captures.map(({ url }) => url)).toEqual(paths.map((path) => siteUrl + path));
    for (const [number, { file }] of captures.entries()) {
      expect((await readFacts(await place.read(`pdfs/${file}`))).texts).toEqual([`The page ${paths[number]}`]);
    }
  },
};
