// The library in one file, which loads in a quarter of the time that its 134 modules take.
declare module 'css-tree/dist/csstree.esm' {
  export * from 'css-tree';
}
