/** Of sitespeed.io: reads HAR files for its viewers. It has no types of its own. */
declare module 'pagexray' {
  const pagexray: { convert(har: unknown, options?: { readonly includeAssets?: boolean }): readonly object[] };
  export default pagexray;
}
