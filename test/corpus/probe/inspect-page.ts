/// <reference lib="dom" />

export type Inspection = Awaited<ReturnType<typeof inspectPage>>;

/**
 * Returns the properties of a page that public bot checks read (bot.sannysoft.com, areyouheadless, the headless part of CreepJS). The
 * source of this function is sent to the page.
 */
export async function inspectPage() {
  const toText = (value: unknown) => Function.prototype.toString.call(value);
  const partsOf = (owner: object, name: string) =>
    Object.getOwnPropertyDescriptor(owner, name) as { get?: unknown; value?: unknown } | undefined;
  const getterOf = (owner: object, name: string) => partsOf(owner, name)?.get;
  const valueOf = (owner: object, name: string) => partsOf(owner, name)?.value;
  const { console: log } = globalThis;
  const frame = document.createElement('iframe');
  document.body.append(frame);
  const inner = frame.contentWindow as (Window & typeof globalThis) | null;

  // If a debugger listens to the console, logged values are formatted immediately.
  const errors = Error as unknown as { prepareStackTrace: unknown };
  let formatted = false;
  errors.prepareStackTrace = () => {
    formatted = true;
    return '';
  };
  log.debug(new Error('bait'));
  delete errors.prepareStackTrace;
  let read = false;
  log.debug(Object.defineProperty(new Error('bait'), 'stack', { get: () => (read = true) }));
  log.debug({ deep: Object.defineProperty(document.createElement('i'), 'id', { get: () => (read = true) }) });

  const broken = new Image();
  const brokenSize = new Promise<number[]>((resolve) => {
    broken.addEventListener('error', () => resolve([broken.width, broken.height]));
  });
  broken.src = '/not-there.png';
  document.body.append(broken);

  const { state } = await navigator.permissions.query({ name: 'notifications' });
  const { chrome } = window as unknown as { chrome?: object };
  const plugins = [...navigator.plugins];
  const mimeTypes = [...navigator.mimeTypes];
  const video = document.createElement('video');
  const natives = [
    ...['close', 'open', 'fetch', 'alert'].map((name) => valueOf(window, name)),
    valueOf(Function.prototype, 'toString'),
    valueOf(HTMLCanvasElement.prototype, 'toDataURL'),
    valueOf(WebGLRenderingContext.prototype, 'getParameter'),
    valueOf(Permissions.prototype, 'query'),
    ...['webdriver', 'userAgent', 'languages', 'plugins', 'platform'].map((name) =>
      getterOf(Navigator.prototype, name),
    ),
    ...['width', 'availHeight', 'colorDepth'].map((name) => getterOf(Screen.prototype, name)),
    ...['innerWidth', 'outerHeight'].map((name) => getterOf(window, name)),
  ].map((native) => toText(native));
  return {
    webdriver: [navigator.webdriver, inner?.navigator.webdriver],
    ownOfNavigator: Object.getOwnPropertyNames(navigator),
    vendor: [navigator.vendor, navigator.productSub],
    plugins: plugins.map(({ name }) => name),
    mimeTypes: mimeTypes.map(({ type }) => type),
    pluginsFit:
      navigator.plugins instanceof PluginArray &&
      plugins.every((plugin) => plugin instanceof Plugin) &&
      mimeTypes.every((type) => type instanceof MimeType && type.enabledPlugin === plugins[0]),
    pdfViewer: navigator.pdfViewerEnabled,
    permissions: [Notification.permission, state],
    chrome: Object.keys(chrome ?? {}),
    outer: [outerWidth, outerHeight],
    inner: [innerWidth, innerHeight],
    visual: [visualViewport?.width, visualViewport?.height],
    screen: [screen.width, screen.height, screen.colorDepth, screen.pixelDepth],
    queries: [`(device-width: ${screen.width}px)`, `(width: ${innerWidth}px)`, '(pointer: fine)', '(hover: hover)'].map(
      (query) => matchMedia(query).matches,
    ),
    touch: [navigator.maxTouchPoints, 'ontouchstart' in window],
    inSight: [document.hasFocus(), document.visibilityState],
    codecs: [
      'video/mp4; codecs="avc1.42E01E"',
      'video/webm; codecs="vp9"',
      'audio/mp4; codecs="mp4a.40.2"',
      'audio/mpeg',
    ].map((type) => video.canPlayType(type)),
    offset: new Date().getTimezoneOffset(),
    altered: natives.filter((text) => !/^function (?:get )?\w+\(\) \{ \[native code\] \}$/.test(text)),
    globals: Object.getOwnPropertyNames(window).filter((name) => !(name in (inner ?? {})) && !/^\d+$/.test(name)),
    /** Whether a frame's window is native, and equal to the page's. */
    frame: [
      inner?.self === inner,
      inner?.parent === window,
      inner?.navigator.userAgent === navigator.userAgent,
      inner?.navigator.platform === navigator.platform,
      typeof (inner as unknown as { chrome?: object } | null)?.chrome,
    ],
    debugger: { formatted, read },
    brokenImage: await brokenSize,
    popup: window.open('/'),
    trace: new Error('trace').stack ?? '',
  };
}
