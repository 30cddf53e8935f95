/// <reference lib="dom" />
import { randomUUID } from 'node:crypto';
import { callExpression } from './isolated-world.ts';

/**
 * The name of an event. If the page's scripts are idle, {@link watchActivity} cancels the event when it is dispatched on the document. An
 * event with the suffix `-due` requests the list of due callbacks; the answer is the detail of an event with the suffix `-answer`. The
 * names are random, so that a page cannot use them to detect that it is watched.
 */
export const stillQuestion = `webcapture-${randomUUID()}`;

/**
 * Records the callbacks that the scripts of a page have scheduled, and whether anything may call them again. It runs in the page's own
 * world before the page's scripts, and replaces functions there that take a callback. A page can detect that, so antiBot captures do not
 * use it. Everything uncertain counts as activity: any observer, and all operations whose end cannot be observed here (requests, workers,
 * decoding). Code that runs after the page's scripts uses no built-in object, because pages change those.
 */
function watchActivity(question: string): void {
  'use strict';
  type Callback = (...args: unknown[]) => unknown;
  type Owner = object | undefined;
  const { apply, construct } = Reflect;
  const page = globalThis as unknown as Record<string, unknown>;
  const prototypeOf = (name: string): Owner => (page[name] as { prototype?: object } | undefined)?.prototype;
  const functionOf = (owner: Owner, name: string): Callback | undefined => {
    const value: unknown = owner && Object.getOwnPropertyDescriptor(owner, name)?.value;
    return typeof value === 'function' ? (value as Callback) : undefined;
  };
  // A page may add properties to `Object.prototype`. Without a null prototype, they would act as traps of the proxy.
  const proxyOf = (native: Callback, handler: ProxyHandler<Callback>) =>
    new Proxy(native, Object.setPrototypeOf(handler, null) as ProxyHandler<Callback>);
  const replace = (owner: Owner, name: string, handler: ProxyHandler<Callback>) => {
    const native = functionOf(owner, name);
    if (native === undefined) return;
    const replaced = ((owner as Record<string, unknown>)[name] = proxyOf(native, handler));
    // Otherwise the native class would be reachable through its objects, and `instanceof` would fail for them.
    const { prototype } = native as { prototype?: object };
    if (prototype?.constructor === native) prototype.constructor = replaced;
  };

  let mayBeCalled = false;
  const noteCall: ProxyHandler<Callback> = {
    apply: (native, self, args) => {
      mayBeCalled = true;
      return apply(native, self, args);
    },
    construct: (native, args, target) => {
      mayBeCalled = true;
      return construct(native, args, target) as object;
    },
  };

  const { performance } = globalThis;
  const nowOf = functionOf(Performance.prototype, 'now');
  const now = () => (nowOf === undefined ? 0 : (apply(nowOf, performance, []) as number));
  const emptyRecord = <T>() => Object.create(null) as Record<string | number, T>;

  let due = 0;
  interface Due {
    readonly kind: string;
    readonly delay: number;
    /** On the clock of `performance.now()`. */
    at: number;
  }
  /** Due callbacks by kind and id: a timer and a frame may have the same id. */
  const dueByKind: Record<string | number, Due>[] = [];
  /** Number of runs of callbacks, by the name of the scheduling function and the delay. */
  const runs = emptyRecord<number>();
  const delayOf = (given: unknown) => {
    const delay = typeof given === 'number' || typeof given === 'string' ? +given : 0;
    return delay > 0 ? delay | 0 : 0;
  };
  const watchDue = (set: readonly string[], cancel: readonly string[], repeats = '') => {
    const ids = emptyRecord<Due>();
    dueByKind[dueByKind.length] = ids;
    const end = (id: number) => {
      if (ids[id] === undefined) return;
      delete ids[id];
      due -= 1;
    };
    for (const name of set) {
      replace(page, name, {
        apply: (native, self, args: unknown[]) => {
          const run = args[0];
          // If `run` is not a function, it is a string of code, or an error.
          if (typeof run !== 'function') {
            mayBeCalled = true;
            return apply(native, self, args);
          }
          let id = 0;
          const delay = delayOf(args[1]);
          args[0] = function (this: unknown, ...given: unknown[]) {
            const ended = ids[id];
            if (name !== repeats) end(id);
            else if (ended !== undefined) ended.at = now() + delay;
            runs[name + delay] = (runs[name + delay] ?? 0) + 1;
            return apply(run as Callback, this, given);
          };
          id = apply(native, self, args) as number;
          ids[id] = { kind: name, delay, at: now() + delay };
          due += 1;
          return id;
        },
      });
    }
    for (const name of cancel) {
      replace(page, name, {
        apply: (native, self, args) => {
          end(args[0] as number);
          return apply(native, self, args);
        },
      });
    }
  };
  watchDue(['setTimeout', 'setInterval'], ['clearTimeout', 'clearInterval'], 'setInterval');
  const frames = ['requestAnimationFrame', 'webkitRequestAnimationFrame'];
  watchDue(frames, ['cancelAnimationFrame', 'webkitCancelAnimationFrame']);
  watchDue(['requestIdleCallback'], ['cancelIdleCallback']);

  // The end of these operations cannot be observed here.
  for (const kind of ['Intersection', 'Mutation', 'Performance', 'Reporting', 'Resize']) {
    replace(page, `${kind}Observer`, noteCall);
  }
  for (const name of [
    'AudioContext',
    'AudioDecoder',
    'BroadcastChannel',
    'CompressionStream',
    'DecompressionStream',
    'EventSource',
    'FileReader',
    'Audio',
    'Image',
    'ImageDecoder',
    'MediaRecorder',
    'MessageChannel',
    'Notification',
    'OfflineAudioContext',
    'RTCPeerConnection',
    'SharedWorker',
    'VideoDecoder',
    'WebSocket',
    'WebTransport',
    'XMLHttpRequest',
    'createImageBitmap',
    'fetch',
    'matchMedia',
  ]) {
    replace(page, name, noteCall);
  }
  // A worker answers the messages of the page.
  let sentAt: number | undefined;
  let answeredAt: number | undefined;
  let answers = 0;
  const noteAnswer = () => {
    sentAt = undefined;
    answeredAt = now();
    answers += 1;
  };
  const listen = functionOf(prototypeOf('EventTarget'), 'addEventListener');
  replace(page, 'Worker', {
    construct: (native, args, target) => {
      mayBeCalled = true;
      const worker = construct(native, args, target) as object;
      if (listen !== undefined) apply(listen, worker, ['message', noteAnswer]);
      return worker;
    },
  });
  replace(prototypeOf('Worker'), 'postMessage', {
    apply: (native, self, args) => {
      // A worker that receives messages continuously and never answers is not waited for again.
      if (sentAt === undefined) sentAt = now();
      return apply(native, self, args);
    },
  });
  for (const name of ['arrayBuffer', 'stream', 'text']) replace(prototypeOf('Blob'), name, noteCall);
  replace(prototypeOf('FontFace'), 'load', noteCall);
  for (const [name, method] of [
    ['HTMLCanvasElement', 'toBlob'],
    ['OffscreenCanvas', 'convertToBlob'],
    ['HTMLImageElement', 'decode'],
    ['Navigator', 'getBattery'],
    ['Document', 'startViewTransition'],
    ['Element', 'attachShadow'],
  ] as const) {
    replace(prototypeOf(name), method, noteCall);
  }
  for (const name of ['arrayBuffer', 'blob', 'json', 'text']) replace(prototypeOf('Response'), name, noteCall);
  for (const name of ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']) {
    replace(page['WebAssembly'] as Owner, name, noteCall);
  }

  const noteAccess = (owner: Owner, name: string, accessor: 'get' | 'set') => {
    const descriptor = owner && Object.getOwnPropertyDescriptor(owner, name);
    const native = functionOf(descriptor, accessor);
    if (owner === undefined || native === undefined) return;
    Object.defineProperty(owner, name, { ...descriptor, [accessor]: proxyOf(native, noteCall) });
  };
  // Nearly all operations of these objects are asynchronous.
  for (const name of ['caches', 'cookieStore', 'indexedDB', 'scheduler']) noteAccess(page, name, 'get');
  noteAccess(prototypeOf('Crypto'), 'subtle', 'get');
  // `fonts.ready` may resolve after a layout that has not happened yet.
  noteAccess(prototypeOf('Document'), 'fonts', 'get');
  for (const name of [
    'bluetooth',
    'clipboard',
    'credentials',
    'geolocation',
    'gpu',
    'locks',
    'mediaCapabilities',
    'mediaDevices',
    'permissions',
    'serviceWorker',
    'storage',
    'storageBuckets',
    'usb',
    'userAgentData',
    'wakeLock',
    'xr',
  ]) {
    noteAccess(prototypeOf('Navigator'), name, 'get');
  }

  // Other events without user input (load, animationend, transitionend) have causes that are visible in the document.
  const events = [
    'beforematch',
    'contentvisibilityautostatechange',
    'message',
    'messageerror',
    'orientationchange',
    'resize',
    'scroll',
    'scrollend',
    'scrollsnapchange',
    'scrollsnapchanging',
  ];
  const isCounted = Object.create(null) as Record<string, true | undefined>;
  for (const name of events) isCounted[name] = true;
  replace(prototypeOf('EventTarget'), 'addEventListener', {
    apply: (native, self, args) => {
      if (typeof args[0] !== 'string' || isCounted[args[0]] === true) mayBeCalled = true;
      return apply(native, self, args);
    },
  });
  const targets = ['HTMLBodyElement', 'HTMLElement', 'Document', 'VisualViewport'];
  for (const owner of [page, ...targets.map(prototypeOf)]) {
    for (const event of events) noteAccess(owner, `on${event}`, 'set');
  }

  // Time at which the page began to navigate to another document, or to another fragment of this one.
  let leftAt: number | undefined;
  const destination = prototypeOf('NavigationDestination');
  const sameDocument = functionOf(destination && Object.getOwnPropertyDescriptor(destination, 'sameDocument'), 'get');
  const navigateEvent = prototypeOf('NavigateEvent');
  const destinationOf = functionOf(
    navigateEvent && Object.getOwnPropertyDescriptor(navigateEvent, 'destination'),
    'get',
  );
  (page['navigation'] as EventTarget | undefined)?.addEventListener('navigate', (event) => {
    mayBeCalled = true;
    if (destinationOf === undefined || sameDocument === undefined) return;
    if (apply(sameDocument, apply(destinationOf, event, []), []) !== true) leftAt = now();
  });

  /**
   * Returns for each function and delay: the name, the delay, the milliseconds until the first callback is due, and the number of
   * callbacks that have run.
   */
  const listDue = () => {
    const first = emptyRecord<Due>();
    for (let kind = 0; kind < dueByKind.length; kind += 1) {
      const ids = dueByKind[kind];
      for (const id in ids) {
        const one = ids[id];
        if (one === undefined) continue;
        const key = one.kind + one.delay;
        const other = first[key];
        if (other === undefined || one.at < other.at) first[key] = one;
      }
    }
    let list = leftAt === undefined ? '' : `navigation 0 ${leftAt - now()} 0;`;
    if (sentAt !== undefined) list += `worker 0 ${sentAt - now()} ${answers};`;
    else if (answeredAt !== undefined) list += `answer 0 ${answeredAt - now()} ${answers};`;
    for (const key in first) {
      const one = first[key];
      if (one !== undefined) list += `${one.kind} ${one.delay} ${one.at - now()} ${runs[key] ?? 0};`;
    }
    return list;
  };
  const dispatch = functionOf(prototypeOf('EventTarget'), 'dispatchEvent');
  const { CustomEvent } = globalThis;
  const detailed = emptyRecord<string>();
  document.addEventListener(`${question}-due`, () => {
    detailed['detail'] = listDue();
    const answer = construct(CustomEvent, [`${question}-answer`, detailed]) as object;
    if (dispatch !== undefined) apply(dispatch, document, [answer]);
  });

  const cancel = functionOf(prototypeOf('Event'), 'preventDefault');
  document.addEventListener(question, (event) => {
    if (cancel !== undefined && due === 0 && !mayBeCalled) apply(cancel, event, []);
  });
}

/** The source of {@link watchActivity} with its event name. */
export const watchActivityScript = callExpression(watchActivity, [stillQuestion]);
