/**
 * The command line's flag for an option of a capture: the path to it in the request body, in kebab case. `isFullPage` is
 * `--full-page`, `viewport.width` is `--viewport-width`. A boolean has a second flag, `--no-…`, that sets it to false.
 *
 * @param path such as ['viewport', 'width']
 */
export function flagOf(path: readonly string[]): string {
  const words = path.map((name) => name.replace(/^is(?=[A-Z])/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter}`));
  return `--${words.join('-').toLowerCase().replaceAll(/-+/g, '-').replace(/^-/, '')}`;
}
