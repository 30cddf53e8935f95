/** A package of sitespeed.io that reads HAR files for its viewers. It has no types. */
declare module 'pagexray' {
  const pagexray: { convert(har: unknown, options?: { readonly includeAssets?: boolean }): readonly object[] };
  export default pagexray;
}
