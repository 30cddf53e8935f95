// The library as a single file, which loads in a quarter of the time of its 134 modules.
declare module 'css-tree/dist/csstree.esm' {
  export * from 'css-tree';
}
