/**
 * Pages that read everything that a browser exposes to a page, and pages that set and call everything. Both enumerate the browser's
 * interfaces, so that they also cover those of a newer browser. The source of these functions runs in the pages, so they use only browser
 * APIs and each other.
 */

/** Values that a page read, by path. */
export type Survey = Readonly<Record<string, string>>;

/** Members that a page has tried. */
export interface Planted {
  /** Members, as `Interface.member`, that accepted a value or whose call did not throw. */
  readonly done: readonly string[];
  /** Interfaces whose members were tried. */
  readonly interfaces: readonly string[];
  /** Values that the page reads afterwards. */
  readonly survey: Survey;
}

/** Members that are not tried, as `Interface.member` or `Interface.*`, with the reason. */
export const exclusions: Readonly<Record<string, string>> = {
  'Location.*': 'leaves the document',
  'Window.location': 'leaves the document',
  'Document.location': 'leaves the document',
  'Navigation.navigate': 'leaves the document',
  'Navigation.reload': 'leaves the document',
  'Navigation.back': 'leaves the document',
  'Navigation.forward': 'leaves the document',
  'Navigation.traverseTo': 'leaves the document',
  'History.back': 'leaves the document',
  'History.forward': 'leaves the document',
  'History.go': 'leaves the document',
  'Window.stop': 'ends the report of the page',
  'Document.open': 'ends the script',
  'Document.close': 'ends the report of the page',
  'Document.write': 'ends the report of the page',
  'Document.writeln': 'ends the report of the page',
  'Window.clearTimeout': 'ends a timer of the survey',
  'Window.clearInterval': 'ends a timer of the survey',
  'Window.alert': 'waits for a person',
  'Window.confirm': 'waits for a person',
  'Window.prompt': 'waits for a person',
  'Window.print': 'waits for a person',
  'Worker.constructor': 'a page that has had a worker is not used again',
  'SharedWorker.constructor': 'a page that has had a worker is not used again',
  'ServiceWorkerContainer.register': 'a page that has had a worker is not used again',
};

interface Reached {
  readonly path: string;
  readonly object: object;
}

interface Member {
  readonly name: string;
  /** The interface that has the member. */
  readonly owner: string;
  readonly descriptor: PropertyDescriptor;
}

/** Returns the members of an object, own and inherited from its interfaces, without those of the language. */
export function membersOf(object: object): Member[] {
  const ofLanguage: unknown[] = [Object.prototype, Function.prototype, Array.prototype, null];
  const members: Member[] = [];
  let own = '';
  for (let at: object | null = object; !ofLanguage.includes(at); at = Object.getPrototypeOf(at as object)) {
    const tag: unknown = Object.getOwnPropertyDescriptor(at as object, Symbol.toStringTag)?.value;
    if (typeof tag === 'string') own ||= tag;
    const owner = typeof tag === 'string' ? tag : '';
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(at as object)))
      members.push({ name, owner, descriptor });
  }
  return members.map((member) => ({ ...member, owner: member.owner || own || 'Window' }));
}

/** Awaits a promise for a limited time, because some never settle. */
export async function settled(value: unknown, ms = 1000): Promise<unknown> {
  if (!(value instanceof Promise)) return value;
  const late = new Promise((resolve) => setTimeout(resolve, ms, undefined));
  return Promise.race([value, late]).catch((error: unknown) => `rejected: ${(error as Error)?.name}`);
}

/**
 * Whether a value is an object of the browser. Among nodes, only the document and its root count: the others end with their
 * document.
 */
export function isPlatformObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Node) return value === document || value === document.documentElement;
  return /^\[object (?!Object|Array|Promise|Date|Map|Set|RegExp|Error|ArrayBuffer|Uint8Array|Generator)/.test(
    Object.prototype.toString.call(value),
  );
}

/**
 * Reads every value that can be reached from the window: attributes, the items of iterables, and results of calls without
 * arguments whose names suggest a lookup.
 *
 * @param maxDepth number of attributes and calls from the window to the last object
 */
export async function surveyPage(maxDepth = 5): Promise<{ survey: Survey; objects: readonly Reached[] }> {
  const looks =
    /^(get(?!User|Display|Screen)|keys$|values$|entries$|estimate|persisted|databases|query$|match|has|is|supports|check|enumerate|toJSON|to[A-Z]?String|availability|state)/;
  const survey: Record<string, string> = {};
  const seen = new Map<object, string>();
  const objects: Reached[] = [];
  const waiting: { path: string; object: object; depth: number }[] = [];
  const note = (path: string, value: unknown, depth: number): void => {
    if (typeof value === 'function') return;
    if (!isPlatformObject(value)) {
      if (typeof value === 'object' && value !== null) {
        const entries = Object.entries(value).slice(0, 50);
        survey[path] = entries.length === 0 ? 'empty' : 'object';
        if (depth < maxDepth) for (const [name, one] of entries) note(`${path}.${name}`, one, depth + 1);
      } else survey[path] = String(value);
      return;
    }
    survey[path] = seen.get(value) ?? Object.prototype.toString.call(value);
    if (seen.has(value) || depth >= maxDepth) return;
    seen.set(value, `as ${path}`);
    objects.push({ path, object: value });
    waiting.push({ path, object: value, depth });
  };
  note('window', window, 0);
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { path, object, depth } = next;
    const reads = membersOf(object).map(async ({ name, descriptor }) => {
      const at = `${path}.${name}`;
      if (at in survey) return;
      try {
        if (descriptor.get !== undefined) note(at, await settled(Reflect.get(object, name)), depth + 1);
        else if (typeof descriptor.value !== 'function') note(at, descriptor.value, depth + 1);
        else if (descriptor.value.length === 0 && looks.test(name))
          note(
            `${at}()`,
            await settled(Reflect.apply(descriptor.value as () => unknown, object, []), 10_000),
            depth + 1,
          );
      } catch (error) {
        survey[at] = `threw ${(error as Error)?.name}`;
      }
    });
    await Promise.all(reads);
    try {
      const held: unknown[] = [];
      const iterable = object as Partial<Iterable<unknown> & AsyncIterable<unknown>>;
      const iterate = async () => {
        if (iterable[Symbol.asyncIterator]) for await (const one of iterable as AsyncIterable<unknown>) held.push(one);
        else if (iterable[Symbol.iterator]) held.push(...(iterable as Iterable<unknown>));
      };
      await settled(iterate(), 10_000);
      // Browser processes return sets of strings in different orders, so strings are sorted.
      if (held.every((one) => typeof one === 'string')) held.sort();
      held.slice(0, 50).forEach((one, index) => note(`${path}[${index}]`, one, depth + 1));
    } catch {
      // The object cannot be iterated now.
    }
  }
  const queries = [
    '(prefers-color-scheme: dark)',
    '(prefers-reduced-motion: reduce)',
    '(display-mode: fullscreen)',
    '(orientation: landscape)',
    '(resolution: 1dppx)',
    '(hover)',
    'print',
  ];
  for (const query of queries) survey[query] = String(matchMedia(query).matches);
  const permissions =
    'accelerometer ambient-light-sensor background-fetch background-sync camera clipboard-read clipboard-write display-capture geolocation gyroscope idle-detection keyboard-lock local-fonts magnetometer microphone midi nfc notifications payment-handler periodic-background-sync persistent-storage pointer-lock push screen-wake-lock speaker-selection storage-access system-wake-lock top-level-storage-access window-management';
  const states = permissions.split(' ').map(async (name) => {
    const status = await navigator.permissions.query({ name: name as PermissionName }).catch(() => undefined);
    survey[`permission ${name}`] = status?.state ?? 'unknown';
  });
  await Promise.all(states);
  return { survey, objects };
}

/**
 * Sets every attribute and makes every call with values of all kinds. It covers what can be reached from the window and from the results of
 * calls.
 *
 * @param part of `parts`; this number of pages share the members that are reached from the window
 */
export async function plantEverything(
  secret: string,
  excluded: readonly string[],
  [part, parts]: readonly [part: number, parts: number],
): Promise<Planted> {
  // The page stays: navigation is prevented, also by unknown members.
  const { navigation } = window as { navigation?: EventTarget };
  navigation?.addEventListener('navigate', (event) => {
    const { destination } = event as Event & { readonly destination: { readonly sameDocument: boolean } };
    if (!destination.sameDocument) event.preventDefault();
  });
  const pair = `${secret}=${secret}; Max-Age=9999`;
  const words =
    'manual on auto rtl playing portrait landscape all persistent granted logged-in enabled dark granted key';
  const inert = () => undefined;
  const bag = () => ({
    name: secret,
    value: secret,
    id: secret,
    title: secret,
    label: secret,
    url: '/x',
    src: '/x',
    href: '/x',
    path: '/',
    type: 'text',
    mode: 'exclusive',
    create: true,
    keepPath: true,
    persisted: true,
    durability: 'strict',
    color: '#f00',
    quota: 1e9,
    expires: Date.now() + 1e8,
    width: 300,
    height: 300,
    top: 100,
    left: 100,
    x: 9,
    y: 9,
    scale: 2,
    zoom: 2,
    state: secret,
    description: secret,
    info: secret,
    handler: inert,
    capture: true,
    enabled: true,
    keys: [secret],
  });
  const single = (): unknown[] => [
    pair,
    secret,
    `/${secret}`,
    'web+planted',
    7,
    true,
    inert,
    bag(),
    [secret],
    new Blob([secret]),
    new Response(secret),
    new Request(`/${secret}`),
    new Uint8Array(8),
    ...words.split(' '),
  ];
  const tuples = (length: number): unknown[][] => {
    const ones = single();
    if (length === 0) return [[], [bag()], [inert]];
    if (length === 1) return [...ones.map((one) => [one]), [secret, bag()], ['x', { create: true }]];
    const rests = [secret, `/${secret}`, bag(), inert, 7, new Response(secret)];
    const pairs = ones.slice(0, 13).flatMap((one) => rests.map((rest) => [one, rest]));
    return [
      ...(length === 2 ? pairs : pairs.map(([one, rest]) => [one, rest, ...Array<unknown>(length - 2).fill(rest)])),
      ['web+planted', `${location.origin}/?%s`],
    ];
  };
  const done = new Set<string>();
  const interfaces = new Set<string>();
  const skips = (member: string) => excluded.includes(member) || excluded.includes(`${member.split('.')[0]}.*`);
  let turn = 0;
  /** Objects that calls return exist only in this page, so all their members are tried. */
  const isMine = ({ path }: Reached) => !path.startsWith('window') || (turn += 1) % parts === part;
  const yielded: Reached[] = [];
  const keepResult = (path: string, value: unknown) => {
    if (isPlatformObject(value)) yielded.push({ path, object: value });
  };
  const attempts: Promise<unknown>[] = [];
  const attempt = (member: string, act: () => unknown): void => {
    try {
      const result = act();
      done.add(member);
      if (result instanceof Promise) attempts.push(settled(result).then((value) => keepResult(`${member}()`, value)));
      else keepResult(`${member}()`, result);
    } catch {
      // The member does not accept the value.
    }
  };
  const setters: (() => void)[] = [];
  const tried = new Set<string>();
  const plant = (reached: Reached): void => {
    const { path, object } = reached;
    for (const { name, owner, descriptor } of membersOf(object)) {
      const member = `${owner}.${name}`;
      interfaces.add(owner);
      // One object of each interface is enough among the objects that calls return.
      if (skips(member) || tried.has(`${path}.${name}`)) continue;
      tried.add(`${path}.${name}`);
      const { value } = descriptor;
      if (descriptor.set !== undefined && isMine(reached)) {
        const before: unknown = Reflect.get(object, name);
        const changed = typeof before === 'boolean' ? [!before] : typeof before === 'number' ? [before + 1, 77] : [];
        setters.push(() => {
          for (const one of [...single(), ...changed]) attempt(member, () => void Reflect.set(object, name, one));
        });
      } else if (typeof value === 'function' && !isConstructor(value as () => unknown) && isMine(reached)) {
        for (const args of tuples((value as () => unknown).length))
          attempt(member, () => Reflect.apply(value as () => unknown, object, args) as unknown);
      }
    }
  };
  const constructors = Object.entries(Object.getOwnPropertyDescriptors(window)).flatMap(([name, { value }]) =>
    isConstructor(value) && !(value.prototype instanceof Node) ? [[name, value] as const] : [],
  );
  const { objects } = await surveyPage();
  for (const reached of objects) plant(reached);
  for (const [name, Constructor] of constructors) {
    if (skips(`${name}.constructor`) || !isMine({ path: 'window', object: window })) continue;
    for (const args of tuples(Constructor.length))
      attempt(`${name}.constructor`, () => Reflect.construct(Constructor, args) as unknown);
  }
  // Objects that calls have returned, such as an open cache, and their results.
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(attempts.splice(0));
    for (const reached of yielded.splice(0)) plant(reached);
  }
  await Promise.all(attempts.splice(0));
  for (const set of setters) set();
  // If the document has lost its root, it gets a new one, because a document without a root is captured only by chance.
  if (document.documentElement === null) document.append(document.createElement('html'));
  const { survey } = await surveyPage();
  return { done: [...done], interfaces: [...interfaces], survey };
}

/** Whether a function of the browser is an interface. */
export function isConstructor(value: unknown): value is new (...args: unknown[]) => unknown {
  if (typeof value !== 'function') return false;
  const { prototype } = value as { prototype?: unknown };
  return typeof prototype === 'object' && prototype !== null && Symbol.toStringTag in prototype;
}
