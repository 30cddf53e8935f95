/// <reference lib="dom" />
import type { OriginStorage } from '@webcapture/shared/captures/session-state.ts';

/** Fills the storage of the document's origin, unless the page has stored something there already. Runs before the page's scripts. */
export function fillStorage(origins: readonly OriginStorage[]): void {
  const stored = origins.find(({ origin }) => origin === location.origin);
  for (const kind of ['localStorage', 'sessionStorage'] as const) {
    try {
      if (stored === undefined || globalThis[kind].length > 0) continue;
      for (const { name, value } of stored[kind]) globalThis[kind].setItem(name, value);
    } catch {
      // The document has no storage, or it is full.
    }
  }
}

/** Returns the storage of the document's origin; null if it has none. Items beyond `maxLength` characters are omitted. */
export function readStorage(maxLength: number): OriginStorage | null {
  let length = 0;
  const itemsOf = (storage: Storage) => {
    const items: { name: string; value: string }[] = [];
    for (let index = 0; index < storage.length && length <= maxLength; index += 1) {
      const name = storage.key(index) ?? '';
      const value = storage.getItem(name) ?? '';
      length += name.length + value.length;
      items.push({ name, value: value.slice(0, maxLength) });
    }
    return items;
  };
  try {
    return { origin: location.origin, localStorage: itemsOf(localStorage), sessionStorage: itemsOf(sessionStorage) };
  } catch {
    return null;
  }
}
