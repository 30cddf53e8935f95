/// <reference lib="dom" />

/**
 * Gives access to the members that a node has of its own. In a form, a field stands in the place of the member that has its name
 * (`<form><input name="style">`), in an isolated world too, before properties that are defined on the form itself. So scripts of this
 * folder write `own(node).style` for every node that may be a form, and pass the node itself to functions of the browser. What names of
 * elements do to the document of the page's own world concerns no isolated world; to its window they add what is not there yet.
 *
 * @returns the value itself where it is no form; else something that reads, writes and calls what the prototypes of the form define
 */
export function own<T>(value: T): T {
  // By a symbol, which no field has as its name. The class may be that of another frame.
  if (
    (value as { readonly [Symbol.toStringTag]?: string } | null | undefined)?.[Symbol.toStringTag] !== 'HTMLFormElement'
  )
    return value;
  return new Proxy(Object.getPrototypeOf(value) as object, {
    get: (prototype, name) => {
      const member: unknown = Reflect.get(prototype, name, value);
      return typeof member === 'function' ? (member.bind(value) as unknown) : member;
    },
    set: (prototype, name, to) => Reflect.set(prototype, name, to, value),
  }) as T;
}
