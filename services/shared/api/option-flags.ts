/**
 * Returns the command line flag of a capture option: its path in the request body in kebab case. `isFullPage` becomes `--full-page`,
 * `viewport.width` becomes `--viewport-width`. A boolean has a second flag, `--no-…`, that sets it to false.
 *
 * @param path such as ['viewport', 'width']
 */
export function flagOf(path: readonly string[]): string {
  const words = path.map((name) => name.replace(/^is(?=[A-Z])/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter}`));
  return `--${words.join('-').toLowerCase().replaceAll(/-+/g, '-').replace(/^-/, '')}`;
}
