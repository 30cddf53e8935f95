import { expect } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { html, listedHosts, type Handler } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const only = (...kinds: (keyof RenderOptions['block'])[]) => ({
  ...blockNothing,
  ...Object.fromEntries(kinds.map((kind) => [kind, true])),
});

const color =
  (fill: string): Handler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/svg+xml', 'access-control-allow-origin': '*' });
    response.end(
      `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="100"><rect width="640" height="100" fill="${fill}"/></svg>`,
    );
  };
const script =
  (source: string): Handler =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/javascript' }).end(source);
const green = '#00ff00';
const red = '#ff0000';

/** The page, with hosts from filter lists in place of `$ADS` and `$TRACKER`. */
const page =
  (body: string): Handler =>
  (request, response) => {
    const at = (name: string) => `http://${name}:${request.socket.localPort}`;
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(html(body.replaceAll('$ADS', at(listedHosts.ads)).replaceAll('$TRACKER', at(listedHosts.tracker))));
  };

/** Advertising, a tracker and a picture of the page's own site. */
const advertising: HardPage['site'] = {
  '/': page(`<style>img,iframe,ins{display:block;border:0}</style>
    <script src="$ADS/ad.js"></script><script src="$TRACKER/js/chartbeat.js"></script>
    <ins class="adsbygoogle" style="height:100px;background:${red}"></ins>
    <img src="$ADS/banner.svg" width="640" height="100">
    <iframe src="$ADS/frame" width="640" height="100"></iframe>
    <div style="height:100px;background:${green}"></div><img src="/own.svg" width="640" height="100">`),
  '/ad.js': script(`document.documentElement.dataset.ads = 1`),
  '/js/chartbeat.js': script(`document.documentElement.dataset.tracked = 1`),
  '/banner.svg': color(red),
  '/frame': html(`<body style="background:${red}">`),
  '/own.svg': color('#0000ff'),
};
const ads = ['/ad.js', '/banner.svg', '/frame'];
const tracker = '/js/chartbeat.js';

const asked = (seen: Parameters<NonNullable<HardPage['check']>>[0], paths: readonly string[]) =>
  paths.filter((path) => seen.asked(path) > 0);

const film: Handler = (_request, response) => void response.writeHead(200, { 'content-type': 'video/mp4' }).end('x');
const media: HardPage['site'] = {
  '/': page(`<style>video,img{display:block}</style><video src="/film.mp4" poster="/poster.svg" autoplay muted width="640" height="100"></video>
    <audio src="/sound.mp3" autoplay></audio><video autoplay muted width="640" height="100"><source src="/clip.webm"></video>
    <img src="/own.svg" width="640" height="100"><script>fetch('/list.m3u8'); fetch('/data.json')</script>`),
  '/film.mp4': film,
  '/sound.mp3': film,
  '/clip.webm': film,
  '/list.m3u8': film,
  '/data.json': script('{}'),
  '/poster.svg': color(green),
  '/own.svg': color('#0000ff'),
};
const mediaFiles = ['/film.mp4', '/sound.mp3', '/clip.webm', '/list.m3u8'];

const host = 'www.site.test';
const both = ['png', 'pdf'] as const;

/** The page finishes loading when its service worker has sent its requests. */
const serviceWorker = (): HardPage['site'] => {
  let release = () => {};
  return {
    '/': html(`<img src="/installed.svg"><script>
      navigator.serviceWorker.register('/worker.js'); navigator.serviceWorker.ready.then(() => fetch('/release'));</script>`),
    '/worker.js': (request, response) =>
      script(`oninstall = (event) => event.waitUntil(Promise.all([fetch('/own.svg'),
        fetch('http://${listedHosts.ads}:${request.socket.localPort}/ad.svg').catch(() => 0)]))`)(request, response),
    '/own.svg': color(green),
    '/ad.svg': color(red),
    '/installed.svg': (_request, response) => {
      release = () => response.end();
    },
    '/release': (_request, response) => {
      response.end();
      release();
    },
  };
};

const inServiceWorker = [true, false].map((ads): HardPage => ({
  name: `a service worker's request for advertising is ${ads ? 'blocked' : 'sent if nothing is blocked'}`,
  site: serviceWorker(),
  // Service workers need a secure context.
  host: 'localhost',
  formats: ['png'],
  options: { block: only(ads ? 'ads' : 'media') },
  check: (seen) => {
    expect([seen.asked('/own.svg'), seen.asked('/ad.svg')]).toEqual([1, ads ? 0 : 1]);
    expect(seen.report.blockedRequests).toBe(ads ? 1 : 0);
  },
}));

const pages: readonly HardPage[] = [
  {
    name: 'without the option nothing is blocked',
    host,
    site: advertising,
    formats: ['png'],
    check: (seen) => {
      expect(asked(seen, [...ads, tracker])).toEqual([...ads, tracker]);
      expect(seen.report.blockedRequests).toBe(0);
      seen.expectColumn(320, [
        [50, red],
        [150, red],
        [250, red],
        [350, green],
        [450, '#0000ff'],
      ]);
    },
  },
  {
    name: 'ads: advertising is not requested, and leaves no gap',
    host,
    site: advertising,
    formats: both,
    options: { block: only('ads') },
    check: (seen) => {
      expect(asked(seen, ads)).toEqual([]);
      expect(seen.asked(tracker)).toBe(1);
      expect(seen.report.blockedRequests).toBe(3);
      seen.expectColumn(320, [
        [50, green],
        [150, '#0000ff'],
        [250, '#ffffff'],
      ]);
    },
  },
  {
    name: 'trackers: trackers are not requested, advertising is',
    host,
    site: advertising,
    formats: both,
    options: { block: only('trackers') },
    check: (seen) => {
      expect(asked(seen, ads)).toEqual(ads);
      expect(seen.asked(tracker)).toBe(0);
      expect(seen.report.blockedRequests).toBe(1);
    },
  },
  {
    name: 'ads and trackers are not requested with antiBot',
    isLong: true,
    host,
    site: advertising,
    formats: ['png'],
    options: { block: only('ads', 'trackers'), antiBot: true },
    check: (seen) => {
      expect(asked(seen, [...ads, tracker])).toEqual([]);
      seen.expectColumn(320, [
        [50, green],
        [150, '#0000ff'],
        [250, '#ffffff'],
      ]);
    },
  },
  {
    name: 'media: audio and video are not requested, pictures are',
    host,
    site: media,
    formats: both,
    options: { block: only('media'), waitUntil: 'networkidle' },
    check: (seen) => {
      expect(asked(seen, mediaFiles)).toEqual([]);
      expect(asked(seen, ['/poster.svg', '/own.svg', '/data.json'])).toHaveLength(3);
      expect(seen.report.blockedRequests).toBe(4);
      seen.expectColumn(320, [
        [50, green],
        [250, '#0000ff'],
      ]);
    },
  },
  {
    name: 'without the option audio and video are requested',
    isLong: true,
    host,
    site: media,
    formats: ['png'],
    options: { block: only('ads'), waitUntil: 'networkidle' },
    check: (seen) => expect(asked(seen, mediaFiles)).toEqual(mediaFiles),
  },
];

testCorpus([...pages, ...inServiceWorker]);
