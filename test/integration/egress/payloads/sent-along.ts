import { pathOf } from './payload-site.ts';

const text = JSON.stringify;

/** Style sheet rules that try to reach `to`, for the `css` of a request. Imports are first. */
export const cssPayloads = (to: (name: string) => string): readonly string[] => [
  `@import "${to('import')}";`,
  `@import url(${to('import-url')}) screen;`,
  `@import url("${to('import-layer')}") layer(x);`,
  `@import "file:///etc/passwd";`,
  `@import "javascript:fetch('${to('import-javascript')}')";`,
  `@import "data:text/css,${encodeURIComponent(`html { background: url(${to('import-data')}) }`)}";`,
  `@font-face { font-family: f; src: url(${to('font')}) } p { font-family: f }`,
  `html { background: url(${to('background')}) }`,
  `html { cursor: url(${to('cursor')}), auto }`,
  `body { background-image: image-set('${to('image-set')}' 1x) }`,
  `body { background: url("javascript:fetch('${to('javascript')}')") }`,
  `body::before { content: url(${to('content')}) }`,
  `p { border: 3px solid; border-image: url(${to('border')}) 1 }`,
  `p { mask: url(${to('mask')}); filter: url(${to('filter')}#f) }`,
  `p { --x: url(${to('variable')}); list-style: var(--x); display: list-item }`,
  `p::after { content: url(file:///etc/passwd) }`,
  `p { background: url(data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg"><image href="${to('svg')}"/><script>fetch("${to('svg-script')}")</script></svg>`)}) }`,
  `p { behavior: url(${to('behavior')}); -moz-binding: url(${to('binding')}) }`,
];

/** Statements that try to reach `to`, for the `script` of a request. They do not throw. */
export const scriptPayloads = (to: (name: string) => string): readonly string[] => [
  `fetch(${text(to('fetch'))}, { mode: 'no-cors' }).catch(() => 0)`,
  `fetch('file:///etc/passwd').catch(() => 0)`,
  `fetch('view-source:' + ${text(to('view-source'))}).catch(() => 0)`,
  `fetch(${text(pathOf({ body: '', status: 302, headers: { location: to('redirected') } }))}, { mode: 'no-cors' }).catch(() => 0)`,
  `import(${text(to('import'))}).catch(() => 0)`,
  `const x = new XMLHttpRequest(); x.open('GET', ${text(to('xhr'))}); x.send()`,
  `navigator.sendBeacon(${text(to('beacon'))}, 'x')`,
  `new EventSource(${text(to('event-source'))})`,
  `new WebSocket(${text(to('socket').replace(/^http/, 'ws'))})`,
  `try { new WebTransport(${text(to('transport').replace(/^https?/, 'https'))}).ready.catch(() => 0) } catch {}`,
  `new RTCPeerConnection({ iceServers: [{ urls: 'stun:${new URL(to('stun')).host}' }] }).createDataChannel('x')`,
  `new Image().src = ${text(to('image'))}`,
  `document.body.append(Object.assign(document.createElement('iframe'), { src: ${text(to('frame'))} }))`,
  `document.body.append(Object.assign(document.createElement('iframe'), { src: 'file:///etc/passwd' }))`,
  `document.body.append(Object.assign(document.createElement('iframe'), { src: "javascript:fetch('${to('frame-javascript')}')" }))`,
  `new Worker(URL.createObjectURL(new Blob([${text(`importScripts(${text(to('worker'))})`)}])))`,
  `navigator.serviceWorker?.register(${text(to('service-worker'))}).catch(() => 0)`,
  `open(${text(to('open'))})`,
  `try { location = 'file:///etc/passwd' } catch {}`,
  `try { location = 'chrome://version' } catch {}`,
];
