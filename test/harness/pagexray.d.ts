/** By sitespeed.io: reads HAR files for its viewers. The package has no types. */
declare module 'pagexray' {
  const pagexray: { convert(har: unknown, options?: { readonly includeAssets?: boolean }): readonly object[] };
  export default pagexray;
}
