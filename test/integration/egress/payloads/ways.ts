import { pathOf, type Served } from './payload-site.ts';

/** One method of sending a request from a page: a document that tries to reach `to`, `http://host:port/name`. */
type Way = (to: string) => string | Served;

const script = (code: string) => `<script>{ ${code} }</script>`;
const js = (body: string) => pathOf({ body, type: 'text/javascript' });
const css = (rule: string) => `<style>${rule}</style><p style="font-family: css-font">x</p>`;
const style = (declarations: string) => `<p style="${declarations}">x</p>`;
const link =
  (rel: string, rest = '') =>
  (to: string) =>
    `<link rel="${rel}" href="${to}" ${rest}><body>x`;
const redirect = (status: number) => (to: string) =>
  script(`location = ${JSON.stringify(pathOf({ body: '', status, headers: { location: to } }))}`);
const hostOf = (to: string) => new URL(to).host;
const peer = (server: string) =>
  script(`const peer = new RTCPeerConnection({ iceServers: [${server}], iceCandidatePoolSize: 2 });
    peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer));`);
const turn = (url: string) => peer(`{ urls: '${url}', username: 'a', credential: 'b' }`);
const text = JSON.stringify;

/** Methods that work immediately in every browser. Without the policy, each of these reaches the canary. */
export const plainWays: Readonly<Record<string, Way>> = {
  // Navigation
  location: (to) => script(`location = ${text(to)}`),
  'location-replace': (to) => script(`location.replace(${text(to)})`),
  'navigation-api': (to) => script(`onload = () => navigation.navigate(${text(to)})`),
  'meta-refresh': (to) => `<meta http-equiv=refresh content="0;url=${to}">`,
  'refresh-header': (to) => ({ body: 'x', headers: { refresh: `0;url=${to}` } }),
  'redirect-301': redirect(301),
  'redirect-302': redirect(302),
  'redirect-303': redirect(303),
  'redirect-307': redirect(307),
  'redirect-308': redirect(308),
  'redirect-twice': (to) =>
    script(
      `location = ${text(pathOf({ body: '', status: 302, headers: { location: pathOf({ body: '', status: 302, headers: { location: to } }) } }))}`,
    ),
  'anchor-click': (to) => `<a href="${to}">x</a><script>document.links[0].click()</script>`,
  'base-href': (to) => `<base href="${to}/"><img src="x">`,
  'form-get': (to) => `<form action="${to}"></form><script>document.forms[0].submit()</script>`,
  'form-post': (to) =>
    `<form action="${to}" method=post><input name=a></form><script>document.forms[0].submit()</script>`,
  'document-write': (to) => script(`document.write('<img src=${to}>')`),
  // Elements
  img: (to) => `<img src="${to}">`,
  'img-srcset': (to) => `<img srcset="${to} 1x">`,
  'img-redirected': (to) => `<img src="${pathOf({ body: '', status: 302, headers: { location: to } })}">`,
  picture: (to) => `<picture><source srcset="${to}"><img></picture>`,
  'input-image': (to) => `<input type=image src="${to}">`,
  'body-background': (to) => `<body background="${to}">`,
  'table-background': (to) => `<table background="${to}"><td>x</table>`,
  video: (to) => `<video src="${to}" preload=auto></video>`,
  'video-poster': (to) => `<video poster="${to}"></video>`,
  'video-source': (to) => `<video preload=auto><source src="${to}"></video>`,
  audio: (to) => `<audio src="${to}" preload=auto></audio>`,
  track: (to) =>
    `<video crossorigin src="${pathOf({ body: 'x', type: 'video/mp4' })}"><track default kind=captions src="${to}"></video><script>document.querySelector('track').track.mode = 'showing'</script>`,
  object: (to) => `<object data="${to}"></object>`,
  'object-typed': (to) => `<object data="${to}" type="image/svg+xml"></object>`,
  embed: (to) => `<embed src="${to}">`,
  iframe: (to) => `<iframe src="${to}"></iframe>`,
  'iframe-sandbox': (to) => `<iframe sandbox src="${to}"></iframe>`,
  'iframe-srcdoc': (to) => `<iframe srcdoc="<img src='${to}'>"></iframe>`,
  'iframe-data': (to) => `<iframe src="data:text/html,<img src='${to}'>"></iframe>`,
  'iframe-blob': (to) =>
    script(
      `const frame = document.createElement('iframe'); frame.src = URL.createObjectURL(new Blob(['<img src=${to}>'], { type: 'text/html' })); document.body.append(frame)`,
    ),
  'iframe-javascript': (to) => `<iframe src="javascript:'<img src=${to}>'"></iframe>`,
  frameset: (to) => `<frameset cols=*><frame src="${to}"></frameset>`,
  'fragment-of-svg': (to) => `<svg width=9 height=9><image href="${to}" width=9 height=9 /></svg>`,
  'svg-feimage': (to) =>
    `<svg width=9 height=9><filter id=f><feImage href="${to}"/></filter><rect width=9 height=9 filter="url(#f)"/></svg>`,
  'svg-script': (to) => `<svg><script href="${to}"></script></svg>`,
  'svg-document': (to) =>
    `<iframe src="${pathOf({ body: `<svg xmlns="http://www.w3.org/2000/svg"><image href="${to}" width="9" height="9"/></svg>`, type: 'image/svg+xml' })}"></iframe>`,
  'xml-stylesheet': (to) =>
    `<iframe src="${pathOf({ body: `<?xml version="1.0"?><?xml-stylesheet href="${to}" type="text/css"?><a/>`, type: 'text/xml' })}"></iframe>`,
  xhtml: (to) =>
    `<iframe src="${pathOf({ body: `<html xmlns="http://www.w3.org/1999/xhtml"><body><img src="${to}"/></body></html>`, type: 'application/xhtml+xml' })}"></iframe>`,
  // Scripts
  script: (to) => `<script src="${to}"></script>`,
  'script-module': (to) => `<script type=module src="${to}"></script>`,
  import: (to) => `<script type=module>import ${text(to)}</script>`,
  'import-dynamic': (to) => script(`import(${text(to)}).catch(() => 0)`),
  'import-json': (to) => script(`import(${text(to)}, { with: { type: 'json' } }).catch(() => 0)`),
  'import-map': (to) =>
    `<script type=importmap>{"imports":{"x":"${to}"}}</script><script type=module>import 'x'</script>`,
  // Styles
  stylesheet: link('stylesheet'),
  'stylesheet-header': (to) => ({ body: 'x', headers: { link: `<${to}>; rel=preload; as=style` } }),
  'css-import': (to) => css(`@import "${to}";`),
  'css-import-layer': (to) => css(`@import url(${to}) layer(x) screen;`),
  'css-background': (to) => style(`background: url(${to})`),
  'css-image-set': (to) => style(`background: image-set('${to}' 1x)`),
  'css-list': (to) => style(`display: list-item; list-style-image: url(${to})`),
  'css-border': (to) => style(`border: 3px solid; border-image: url(${to}) 1`),
  'css-content': (to) => style(`content: url(${to})`),
  'css-mask': (to) => style(`mask: url(${to})`),
  'css-font': (to) => css(`@font-face { font-family: css-font; src: url(${to}) }`),
  'css-shape': (to) => style(`float: left; shape-outside: url(${to})`),
  'css-variable': (to) => style(`--x: url(${to}); background: var(--x)`),
  'font-face': (to) => script(`new FontFace('f', 'url(${to})').load().catch(() => 0)`),
  // Hints
  preload: link('preload', 'as=image'),
  'preload-fetch': link('preload', 'as=fetch crossorigin'),
  modulepreload: link('modulepreload'),
  prefetch: link('prefetch'),
  'preload-header': (to) => ({ body: 'x', headers: { link: `<${to}>; rel=preload; as=image` } }),
  // Requests
  fetch: (to) => script(`fetch(${text(to)}, { mode: 'no-cors' }).catch(() => 0)`),
  'fetch-cors': (to) => script(`fetch(${text(to)}).catch(() => 0)`),
  'fetch-preflight': (to) => script(`fetch(${text(to)}, { method: 'PUT', headers: { x: 'y' } }).catch(() => 0)`),
  'fetch-keepalive': (to) => script(`fetch(${text(to)}, { mode: 'no-cors', keepalive: true }).catch(() => 0)`),
  'fetch-redirected': (to) =>
    script(
      `fetch(${text(pathOf({ body: '', status: 302, headers: { location: to } }))}, { mode: 'no-cors' }).catch(() => 0)`,
    ),
  'fetch-referrer': (to) =>
    script(
      `fetch(${text(to)}, { mode: 'no-cors', referrer: location.href, referrerPolicy: 'unsafe-url' }).catch(() => 0)`,
    ),
  beacon: (to) => script(`navigator.sendBeacon(${text(to)}, 'x')`),
  xhr: (to) => script(`const x = new XMLHttpRequest(); x.open('GET', ${text(to)}); x.send()`),
  'xhr-sync': (to) => script(`const x = new XMLHttpRequest(); x.open('GET', ${text(to)}, false); x.send()`),
  'event-source': (to) => script(`new EventSource(${text(to)})`),
  'web-socket': (to) => script(`new WebSocket(${text(to.replace(/^http/, 'ws'))})`),
  'cache-add': (to) => script(`caches.open('x').then((cache) => cache.add(${text(to)})).catch(() => 0)`),
  // Workers
  worker: (to) => script(`new Worker(${text(js(`fetch(${text(to)}, { mode: 'no-cors' })`))})`),
  'worker-import': (to) => script(`new Worker(${text(js(`importScripts(${text(to)})`))})`),
  'worker-blob': (to) => script(`new Worker(URL.createObjectURL(new Blob([${text(`importScripts(${text(to)})`)}])))`),
  'worker-module': (to) => script(`new Worker(${text(js(`import ${text(to)}`))}, { type: 'module' })`),
  'worker-socket': (to) => script(`new Worker(${text(js(`new WebSocket(${text(to.replace(/^http/, 'ws'))})`))})`),
  'shared-worker': (to) => script(`new SharedWorker(${text(js(`fetch(${text(to)}, { mode: 'no-cors' })`))})`),
  'service-worker': (to) =>
    script(
      `navigator.serviceWorker.register(${text(js(`fetch(${text(to)}, { mode: 'no-cors' })`))}, { scope: '/${hostOf(to)}' })`,
    ),
  'audio-worklet': (to) => script(`new AudioContext().audioWorklet.addModule(${text(to)}).catch(() => 0)`),
  'paint-worklet': (to) => script(`CSS.paintWorklet.addModule(${text(to)}).catch(() => 0)`),
  // Reports
  'csp-report': (to) => ({
    body: script('0'),
    headers: { 'content-security-policy': `script-src 'none'; report-uri ${to}` },
  }),
};

/** Ways that Chromium uses rarely: after the load, after a user gesture, only with a command-line switch, or not at all. */
const rareWays: Readonly<Record<string, Way>> = {
  'window-open': (to) => script(`open(${text(to)})`),
  'anchor-blank': (to) => `<a target=_blank href="${to}">x</a><script>document.links[0].click()</script>`,
  'anchor-download': (to) => `<a download href="${to}">x</a><script>document.links[0].click()</script>`,
  'anchor-ping': (to) => `<a href="#x" ping="${to}">x</a><script>document.links[0].click()</script>`,
  'form-blank': (to) => `<form target=_blank action="${to}"></form><script>document.forms[0].submit()</script>`,
  attribution: (to) => `<img attributionsrc="${to}"><a attributionsrc="${to}" href=#x>x</a>`,
  'fenced-frame': (to) =>
    script(
      `const f = document.createElement('fencedframe'); document.body.append(f); f.config = new FencedFrameConfig(${text(to)})`,
    ),
  'css-cursor': (to) => style(`cursor: url(${to}), auto`),
  'css-filter': (to) => style(`filter: url(${to}#f)`),
  'svg-use': (to) => `<svg><use href="${to}#x"/></svg>`,
  mathml: (to) => `<math href="${to}"><maction actiontype="statusline" href="${to}">x</maction></math>`,
  xslt: (to) =>
    `<iframe src="${pathOf({ body: `<?xml version="1.0"?><?xml-stylesheet href="${to}" type="text/xsl"?><a/>`, type: 'text/xml' })}"></iframe>`,
  'xml-entity': (to) =>
    `<iframe src="${pathOf({ body: `<!DOCTYPE a [<!ENTITY x SYSTEM '${to}'>]><a>&x;</a>`, type: 'text/xml' })}"></iframe>`,
  'xml-dtd': (to) => `<iframe src="${pathOf({ body: `<!DOCTYPE a SYSTEM '${to}'><a/>`, type: 'text/xml' })}"></iframe>`,
  hls: (to) =>
    `<video preload=auto autoplay muted src="${pathOf({ body: `#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n${to}\n#EXT-X-ENDLIST\n`, type: 'application/vnd.apple.mpegurl' })}"></video>`,
  manifest: link('manifest'),
  icon: link('icon'),
  'dns-prefetch': link('dns-prefetch'),
  preconnect: link('preconnect'),
  prerender: link('prerender'),
  dictionary: link('compression-dictionary'),
  'preconnect-header': (to) => ({
    body: 'x',
    headers: { link: `<${to}>; rel=preconnect, <${to}>; rel=dns-prefetch`, 'x-dns-prefetch-control': 'on' },
  }),
  'speculation-prefetch': (to) =>
    `<script type=speculationrules>{"prefetch":[{"urls":["${to}"],"eagerness":"immediate"}]}</script>`,
  'speculation-prerender': (to) =>
    `<script type=speculationrules>{"prerender":[{"urls":["${to}"],"eagerness":"immediate"}]}</script>`,
  'speculation-header': (to) => ({
    body: 'x',
    headers: {
      'speculation-rules': `"${pathOf({ body: `{"prefetch":[{"urls":["${to}"],"eagerness":"immediate"}]}`, type: 'application/speculationrules+json' })}"`,
    },
  }),
  'fetch-later': (to) => script(`fetchLater(${text(to)}, { activateAfter: 0 })`),
  'background-fetch': (to) =>
    script(
      `navigator.serviceWorker.register(${text(js('0'))}, { scope: '/bg${hostOf(to)}' }).then((r) => r.backgroundFetch.fetch('x', ${text(to)})).catch(() => 0)`,
    ),
  'web-socket-stream': (to) => script(`new WebSocketStream(${text(to.replace(/^http/, 'ws'))})`),
  'web-socket-tls': (to) => script(`new WebSocket(${text(to.replace(/^https?/, 'wss'))})`),
  'web-transport': (to) => script(`new WebTransport(${text(to.replace(/^https?/, 'https'))}).ready.catch(() => 0)`),
  'web-transport-hash': (to) =>
    script(
      `new WebTransport(${text(to.replace(/^https?/, 'https'))}, { serverCertificateHashes: [{ algorithm: 'sha-256', value: new Uint8Array(32) }] }).ready.catch(() => 0)`,
    ),
  stun: (to) => peer(`{ urls: 'stun:${hostOf(to)}' }`),
  'turn-udp': (to) => turn(`turn:${hostOf(to)}?transport=udp`),
  'turn-tcp': (to) => turn(`turn:${hostOf(to)}?transport=tcp`),
  turns: (to) => turn(`turns:${hostOf(to)}?transport=tcp`),
  'webrtc-candidates': (to) => {
    const { hostname, port } = new URL(to);
    return script(`(async () => {
      const [a, b] = [new RTCPeerConnection(), new RTCPeerConnection()];
      a.createDataChannel('x'); await a.setLocalDescription(await a.createOffer()); await b.setRemoteDescription(a.localDescription);
      await b.setLocalDescription(await b.createAnswer()); await a.setRemoteDescription(b.localDescription);
      for (const kind of ['udp', 'tcp']) await a.addIceCandidate({ sdpMid: '0', candidate:
        'candidate:1 1 ' + kind + ' 2122260223 ${hostname.replace(/[[\]]/g, '')} ${port} typ host' + (kind === 'tcp' ? ' tcptype passive' : '') });
    })().catch(() => 0)`);
  },
  'webrtc-mdns': (to) =>
    script(`(async () => {
      const [a, b] = [new RTCPeerConnection(), new RTCPeerConnection()];
      a.createDataChannel('x'); await a.setLocalDescription(await a.createOffer()); await b.setRemoteDescription(a.localDescription);
      await b.setLocalDescription(await b.createAnswer()); await a.setRemoteDescription(b.localDescription);
      await a.addIceCandidate({ sdpMid: '0', candidate: 'candidate:1 1 udp 2122260223 secret.local ${new URL(to).port} typ host' });
    })().catch(() => 0)`),
  nel: (to) => ({
    body: '<img src=/nel>',
    headers: {
      nel: '{"report_to":"x","max_age":9,"success_fraction":1}',
      'report-to': `{"group":"x","max_age":9,"endpoints":[{"url":"${to}"}]}`,
    },
  }),
  'reporting-endpoints': (to) => ({
    body: script('0'),
    headers: { 'reporting-endpoints': `x="${to}"`, 'content-security-policy': "script-src 'none'; report-to x" },
  }),
  'coep-report': (to) => ({
    body: '<img src=/x>',
    headers: {
      'report-to': `{"group":"x","max_age":9,"endpoints":[{"url":"${to}"}]}`,
      'cross-origin-embedder-policy': 'require-corp; report-to="x"',
    },
  }),
  'alt-svc': (to) => ({
    body: `<img src="/again">`,
    headers: { 'alt-svc': `h3="${hostOf(to)}"; ma=60, h2="${hostOf(to)}", http/1.1="${hostOf(to)}"` },
  }),
  'source-map': (to) => ({ body: script(`//# sourceMappingURL=${to}\nthrow 0`), headers: { sourcemap: to } }),
  'content-location': (to) => ({ body: '<img src=x>', headers: { 'content-location': to } }),
  'proxy-auth': (to) => ({ body: 'x', status: 407, headers: { 'proxy-authenticate': 'Basic realm=x', location: to } }),
  'auto-configuration': (to) => ({
    body: `function FindProxyForURL() { return "PROXY ${hostOf(to)}"; }`,
    type: 'application/x-ns-proxy-autoconfig',
  }),
  'use-proxy': (to) => ({ body: 'x', status: 305, headers: { location: to } }),
  fedcm: (to) =>
    script(
      `navigator.credentials.get({ identity: { providers: [{ configURL: ${text(to)}, clientId: 'x' }] } }).catch(() => 0)`,
    ),
  payment: (to) =>
    script(
      `new PaymentRequest([{ supportedMethods: ${text(to)} }], { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment().catch(() => 0)`,
    ),
  auction: (to) =>
    script(
      `navigator.runAdAuction({ seller: new URL(${text(to)}).origin, decisionLogicURL: ${text(to)}, interestGroupBuyers: [] }).catch(() => 0)`,
    ),
  'shared-storage': (to) => script(`sharedStorage.worklet.addModule(${text(to)}).catch(() => 0)`),
  presentation: (to) => script(`new PresentationRequest(${text(to)}).getAvailability().catch(() => 0)`),
  notification: (to) => script(`new Notification('x', { icon: ${text(to)}, image: ${text(to)} })`),
  'media-session': (to) =>
    script(`navigator.mediaSession.metadata = new MediaMetadata({ artwork: [{ src: ${text(to)} }] })`),
  'protocol-handler': (to) => script(`navigator.registerProtocolHandler('web+x', ${text(to)} + '?%s')`),
  'install-chrome': (to) =>
    `<link rel=chrome-webstore-item href="${to}"><link rel=search type="application/opensearchdescription+xml" href="${to}">`,
};

/** True if a payload navigates its document or affects all of it. Other payloads share a document. */
export const needsOwnDocument = (name: string): boolean =>
  /^(location|navigation-api|meta|redirect|anchor|form|base|frameset|import-map|window-open)/.test(name);

/** All methods. */
export const ways: Readonly<Record<string, Way>> = { ...plainWays, ...rareWays };
