import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';

/** A page and how it is captured. */
export interface BenchPage {
  readonly name: string;
  readonly path: string;
  readonly isFullPage: boolean;
}

export const benchPages: readonly BenchPage[] = [
  { name: 'tiny', path: '/tiny', isFullPage: false },
  { name: 'article', path: '/article', isFullPage: false },
  { name: 'JS-heavy', path: '/scripts', isFullPage: false },
  { name: '12,000 px', path: '/tall', isFullPage: true },
];

/** A page that mostly waits for the network, like pages on the internet. */
export const networkPage: BenchPage = { name: 'network-bound', path: '/waiting', isFullPage: false };

/** A page whose content a script shows when it comes into view. */
export const appearingPage: BenchPage = { name: 'appearing', path: '/appearing', isFullPage: false };

/** A canvas with random pixels, which cannot be compressed: its png has 5.2 MB. */
export const noisePage: BenchPage = { name: 'noise', path: '/noise', isFullPage: true };

const slowImage = '/photo/slow.jpg';
const slowImageMs = 300;

/** Pages that the request supplies as HTML, like the templates of an account. */
export const htmlPages: readonly (BenchPage & { readonly html: string })[] = [
  {
    name: 'card',
    path: '',
    isFullPage: false,
    html: `<!doctype html><html lang="en"><head><title>card</title><style>
body { margin: 0; width: 1200px; height: 630px; display: flex; font-family: sans-serif; background: linear-gradient(135deg, #123, #08f); color: #fff }
main { margin: auto 80px } h1 { font-size: 64px } footer { position: absolute; bottom: 40px; left: 80px; opacity: 0.8 }</style></head>
<body><main><h1>What a picture of a page costs</h1><p>${sentences(3).slice(0, 200)}</p></main><footer>example.com</footer></body></html>`,
  },
  {
    name: 'invoice',
    path: '',
    isFullPage: false,
    html: `<!doctype html><html lang="en"><head><title>invoice</title><style>
body { font: 14px sans-serif; margin: 40px } table { width: 100%; border-collapse: collapse } td { border-bottom: 1px solid #ccc; padding: 6px }
td:last-child { text-align: right }</style></head><body><h1>Invoice 2041</h1><table>${Array.from(
      { length: 20 },
      (_, index) =>
        `<tr><td>${index + 1}</td><td>${sentences(index).slice(0, 60)}</td><td>${(index * 37 + 12).toFixed(2)}</td></tr>`,
    ).join('')}</table><p>Payable within 14 days.</p></body></html>`,
  },
];

/** Serves the pages and their resources on this machine. */
export async function servePages(parts: AsyncDisposableStack): Promise<string> {
  const files = await filesOfPages();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = files.get(pathname);
    if (file === undefined) return void response.writeHead(404).end();
    const send = () =>
      void response.writeHead(200, { 'content-type': file.type, 'cache-control': 'no-store' }).end(file.body);
    if (pathname === slowImage) setTimeout(send, slowImageMs);
    else send();
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 511 }, resolve));
  parts.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface ServedFile {
  readonly type: string;
  readonly body: string | Buffer;
}

async function filesOfPages(): Promise<Map<string, ServedFile>> {
  const files = new Map<string, ServedFile>();
  const page = (path: string, head: string, body: string) =>
    files.set(path, {
      type: 'text/html; charset=utf-8',
      body: `<!doctype html><html lang="en"><head><title>${path}</title>${head}</head><body>${body}</body></html>`,
    });

  page('/tiny', '', '<h1>Hello</h1><p>A page of two lines.</p>');

  files.set(slowImage, await photo(9));
  page('/waiting', '', `<h1>Hello</h1><img src="${slowImage}" width="480" height="270">`);

  const boxes = Array.from({ length: 12 }, (_, index) => `<p class="box">${sentences(index)}</p>`);
  page(
    '/appearing',
    '<style>.box { height: 300px; opacity: 0; transition: opacity .4s } .in { opacity: 1 }</style>',
    `<h1>Appearing</h1>${boxes.join('')}<script>
      const seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => target.classList.toggle('in', isIntersecting)));
      document.querySelectorAll('.box').forEach((box) => seen.observe(box));
    </script>`,
  );

  page(
    '/noise',
    '<style>body{margin:0}canvas{display:block}</style>',
    `<canvas width="1280" height="1350"></canvas><script>${noiseScript}</script>`,
  );

  files.set('/article.css', { type: 'text/css', body: articleStyle });
  for (let index = 0; index < 8; index += 1) files.set(`/photo/${index}.jpg`, await photo(index));
  const photos = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `<img src="/photo/${from + index}.jpg" width="720" height="405">`);
  const paragraphs = Array.from({ length: 30 }, (_, index) => `<p>${sentences(index)}</p>`);
  const head = '<link rel="stylesheet" href="/article.css">';
  page(
    '/article',
    head,
    `<header>News</header><main><h1>An article</h1>${photos(0, 1).join('')}${paragraphs.join('')}${photos(1, 6).join('')}</main>`,
  );

  const rows = Array.from({ length: 2000 }, (_, index) => ({
    id: index,
    name: sentences(index).slice(0, 40),
    value: (index * 7919) % 1000,
  }));
  files.set('/data.js', { type: 'text/javascript', body: `const rows = ${JSON.stringify(rows)};` });
  files.set('/app.js', { type: 'text/javascript', body: appScript });
  page(
    '/scripts',
    '<link rel="stylesheet" href="/article.css">',
    '<div id="app"></div><script src="/data.js"></script><script src="/app.js"></script>',
  );

  const sections = Array.from(
    { length: 20 },
    (_, index) =>
      `<section style="height:600px;overflow:hidden"><h2>Section ${index}</h2><img src="/photo/${index % 8}.jpg" width="480" height="270"><p>${sentences(index)}</p></section>`,
  );
  page('/tall', `${head}<style>body{margin:0}</style>`, sections.join(''));
  return files;
}

const noiseScript = `
  const context = document.querySelector('canvas').getContext('2d');
  const picture = context.createImageData(1280, 1350);
  const { data } = picture;
  for (let at = 0; at < data.length; at += 65536) crypto.getRandomValues(data.subarray(at, at + 65536));
  for (let at = 3; at < data.length; at += 4) data[at] = 255;
  context.putImageData(picture, 0, 0);`;

const articleStyle = `body { margin: 0; font: 18px/1.6 serif; color: #222 }
header { position: sticky; top: 0; padding: 12px 40px; background: #123; color: #fff; font: bold 20px sans-serif }
main { max-width: 720px; margin: 0 auto } img { border-radius: 8px; box-shadow: 0 4px 20px #0004 }
table { border-collapse: collapse; width: 100%; font: 13px sans-serif } td { border-bottom: 1px solid #ccc; padding: 4px 8px }
.bar { height: 10px; background: linear-gradient(90deg, #08f, #0c8); border-radius: 5px }`;

/** Sorts and groups data, builds a table, and draws a chart before the page has loaded. */
const appScript = `(() => {
  const groups = Map.groupBy(rows, ({ value }) => value % 20);
  const sums = [...groups].map(([group, members]) => [group, members.reduce((sum, { value }) => sum + value, 0)]);
  const app = document.querySelector('#app');
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: 1200, height: 240 });
  app.append(canvas);
  const context = canvas.getContext('2d');
  sums.forEach(([group, sum], index) => {
    context.fillStyle = 'hsl(' + group * 18 + ' 70% 50%)';
    context.fillRect(index * 60, 240 - sum / 300, 50, sum / 300);
  });
  const table = document.createElement('table');
  for (const { id, name, value } of rows.sort((a, b) => b.value - a.value).slice(0, 600)) {
    const row = table.insertRow();
    row.insertCell().textContent = id;
    row.insertCell().textContent = name;
    const bar = document.createElement('div');
    bar.className = 'bar';
    bar.style.width = value / 10 + '%';
    row.insertCell().append(bar);
  }
  app.append(table);
  let spent = 0;
  for (let turn = 0; turn < 2e6; turn += 1) spent = (spent * 31 + turn) | 0;
  app.dataset.spent = spent;
})()`;

function sentences(seed: number): string {
  const words = [
    'river',
    'stone',
    'light',
    'garden',
    'window',
    'market',
    'silent',
    'paper',
    'morning',
    'bridge',
    'color',
  ];
  return Array.from(
    { length: 70 },
    (_, index) => words[(seed * 13 + index * 7 + ((index * index) % 5)) % words.length],
  ).join(' ');
}

/** A picture with smooth and sharp areas, like a photograph. */
async function photo(seed: number): Promise<ServedFile> {
  const [width, height] = [960, 540];
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 3;
      const wave = Math.sin((x + seed * 40) / 35) * Math.cos((y - seed * 25) / 28);
      const grain = ((x * 73_856_093) ^ (y * 19_349_663) ^ seed) & 15;
      pixels[at] = 128 + wave * 100 + grain;
      pixels[at + 1] = (x * 255) / width + grain / 2;
      pixels[at + 2] = 200 - (y * 150) / height + wave * 30;
    }
  }
  const body = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer();
  return { type: 'image/jpeg', body };
}
