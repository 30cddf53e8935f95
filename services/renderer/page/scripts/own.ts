/// <reference lib="dom" />

/**
 * Returns an object whose members cannot be shadowed by form fields. In `<form><input name="style">`, `form.style` is the field, even in an
 * isolated world, and even if the form has an own property of that name. Scripts of this folder therefore write `own(node).style` for every
 * node that can be a form, and pass the node itself to functions of the browser. Other names of elements are harmless in an isolated world:
 * they shadow no members of the document, and define only globals that do not exist otherwise.
 *
 * @returns the value itself; for a form, a proxy that gets, sets and calls the members that its prototypes define
 */
export function own<T>(value: T): T {
  // A field cannot shadow a symbol. `instanceof` would fail for a form of another frame.
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
