/** A page that takes as much of the machine's resources as it can. */
export interface HostilePage {
  readonly name: string;
  readonly html: string;
}

const page = (name: string, script: string, body = ''): HostilePage => ({
  name,
  // The work starts after the page has loaded, so that a capture is in progress and not only a navigation.
  html: `<!doctype html><title>${name}</title><body>${body}<script>addEventListener('load', () => { ${script} });</script>`,
});

/** Runs endlessly, and yields to the event loop now and then. */
const forever = (script: string) => `const again = () => { ${script}; setTimeout(again, 0); }; again();`;
const worker = (script: string) => `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(script)}])))`;

export const hostileNeighbors: readonly HostilePage[] = [
  page(
    'BroadcastChannel',
    `const [a, b] = [new BroadcastChannel('x'), new BroadcastChannel('x')]; ${forever(`for (let i = 0; i < 20_000; i++) a.postMessage('x'.repeat(100))`)}`,
  ),
  page(
    'history.pushState',
    forever(`for (let i = 0; i < 1000; i++) try { history.pushState(i, '', '?' + i) } catch {}`),
  ),
  page('location.hash', forever(`for (let i = 0; i < 1000; i++) location.hash = i + Math.random()`)),
  page(
    '10,000 frames',
    forever(
      `for (let i = 0; i < 500 && document.querySelectorAll('iframe').length < 10_000; i++) document.body.append(document.createElement('iframe'))`,
    ),
  ),
  page('200 workers that spin', `for (let i = 0; i < 200; i++) ${worker('for (;;);')}`),
  page('a loop', 'for (;;);'),
  page(
    'OPFS',
    `(async () => { const root = await navigator.storage.getDirectory(); const block = new Uint8Array(16 * 2 ** 20);
     for (let i = 0; ; i++) { const file = await root.getFileHandle('f' + i, { create: true }); const out = await file.createWritable(); await out.write(block); await out.close(); } })()`,
  ),
  page(
    'IndexedDB',
    `const open = indexedDB.open('x'); open.onupgradeneeded = () => open.result.createObjectStore('s');
     open.onsuccess = () => { let i = 0; const put = () => { const t = open.result.transaction('s', 'readwrite'); t.objectStore('s').put(new Uint8Array(8e6), i++); t.oncomplete = put; }; put(); }`,
  ),
  page(
    'caches',
    `caches.open('x').then(async (cache) => { for (let i = 0; ; i++) await cache.put('/' + i, new Response(new Uint8Array(8e6))) })`,
  ),
  page(
    'localStorage',
    forever(`for (let i = 0; i < 100; i++) localStorage.setItem(i % 40, 'x'.repeat(1e5) + Math.random())`),
  ),
  page(
    'fetch',
    forever(`for (let i = 0; i < 200; i++) fetch('http://127.0.0.1:7998/' + Math.random()).catch(() => 0)`),
  ),
  page(
    'WebSockets',
    forever(`for (let i = 0; i < 50; i++) try { new WebSocket('ws://127.0.0.1:7998/' + i) } catch {}`),
  ),
  page(
    'WebAssembly memory',
    `const held = []; ${forever(`try { const m = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(m.buffer).fill(1); held.push(m) } catch {}`)}`,
  ),
  page(
    'canvas',
    `const all = []; ${forever(`const c = document.createElement('canvas'); c.width = c.height = 4000; const g = c.getContext('2d'); g.filter = 'blur(50px)'; g.fillRect(0, 0, 3000, 3000); g.getImageData(0, 0, 1, 1); all.push(c); document.body.append(c)`)}`,
  ),
  page(
    'WebGL',
    forever(
      `const c = document.createElement('canvas'); c.width = c.height = 2000; const g = c.getContext('webgl'); if (g) { for (let i = 0; i < 50; i++) g.clear(g.COLOR_BUFFER_BIT); g.finish() } document.body.append(c)`,
    ),
  ),
  page(
    'synchronous requests',
    `for (;;) try { const x = new XMLHttpRequest(); x.open('GET', 'http://127.0.0.1:9/', false); x.send() } catch {}`,
  ),
  page('document.write', forever(`for (let i = 0; i < 1000; i++) document.write('<p>' + 'x'.repeat(100))`)),
  page('dialogs', forever(`alert(1); confirm(2); prompt(3)`)),
  page('windows', forever(`for (let i = 0; i < 20; i++) open('about:blank', '_blank')`)),
  page(
    'links that open windows',
    forever(
      `for (let i = 0; i < 20; i++) { const a = document.createElement('a'); a.href = 'about:blank'; a.target = '_blank'; a.click() }`,
    ),
  ),
  page(
    'service workers and shared workers',
    forever(
      `for (let i = 0; i < 20; i++) { navigator.serviceWorker?.register('/' + Math.random()).catch(() => 0); new SharedWorker(URL.createObjectURL(new Blob(['for (;;);'])), Math.random() + '') }`,
    ),
  ),
  page(
    'a large document',
    forever(`document.body.append(document.createRange().createContextualFragment('<b><i>x</i></b>'.repeat(20_000)))`),
  ),
  page(
    'layout without end',
    forever(
      `for (let i = 0; i < 100; i++) { document.body.style.width = 500 + i % 7 + 'px'; document.body.offsetHeight }`,
    ),
    '<p>x '.repeat(20_000),
  ),
  page('regular expressions', forever(`/^(x+x+)+y$/.test('x'.repeat(26))`)),
  page(
    'JSON',
    forever(`JSON.parse(JSON.stringify(Array.from({ length: 1e5 }, (_, i) => ({ i, x: 'x'.repeat(50) }))))`),
  ),
  page(
    'large images and filters',
    forever(
      `const i = new Image(); i.src = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="8000" height="8000"><filter id="f"><feTurbulence numOctaves="9"/><feGaussianBlur stdDeviation="99"/></filter><rect width="8000" height="8000" filter="url(#f)"/></svg>' + '<!--' + Math.random() + '-->'); document.body.prepend(i)`,
    ),
  ),
  page(
    'animations by the thousand',
    `for (let i = 0; i < 5000; i++) { const b = document.createElement('b'); b.textContent = 'x'; b.style.filter = 'blur(2px)'; document.body.append(b); b.animate([{ transform: 'none', width: 0 }, { transform: 'rotate(1turn)', width: '9px' }], { duration: 500, iterations: Infinity }) }`,
  ),
  page(
    'MutationObserver',
    `new MutationObserver(() => document.body.setAttribute('x', Math.random())).observe(document.body, { attributes: true }); document.body.setAttribute('x', 1)`,
  ),
  page(
    'postMessage',
    `onmessage = () => { postMessage(1); postMessage(1) }; for (let i = 0; i < 1000; i++) postMessage(1)`,
  ),
  page('timers by the million', `for (let i = 0; i < 1e6; i++) setInterval(() => i, 0)`),
  page(
    'blob URLs',
    `const kept = []; ${forever(`for (let i = 0; i < 200; i++) kept.push(URL.createObjectURL(new Blob([new Uint8Array(1e5)])))`)}`,
  ),
  page(
    'fonts',
    forever(
      `for (let i = 0; i < 50; i++) { const f = new FontFace('f' + Math.random(), new Uint8Array(1e6)); document.fonts.add(f); f.load().catch(() => 0) }`,
    ),
  ),
  page(
    'sound and video',
    forever(
      `const a = new AudioContext(); for (let i = 0; i < 50; i++) { const o = a.createOscillator(); o.connect(a.createConvolver()).connect(a.destination); o.start() } const v = document.createElement('video'); v.src = URL.createObjectURL(new Blob([new Uint8Array(1e6)], { type: 'video/mp4' })); v.play().catch(() => 0)`,
    ),
  ),
  page(
    'WebRTC',
    forever(
      `for (let i = 0; i < 10; i++) try { const c = new RTCPeerConnection(); c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o)).catch(() => 0) } catch {}`,
    ),
  ),
  page('the console', forever(`for (let i = 0; i < 2000; i++) console.log('x'.repeat(200), { i }, document.body)`)),
  page('reloads', `setTimeout(() => location.reload(), 0)`),
  page('memory', `const held = []; ${forever(`held.push(new Uint8Array(2e7).fill(1))`)}`),
];
