/// <reference lib="dom" />

/** Lets images and frames that wait to be scrolled to load at once, in open shadow trees too. */
export function loadEagerly(): void {
  const visit = (root: Document | ShadowRoot): void => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) visit(element.shadowRoot);
      if (element.localName !== 'img' && element.localName !== 'iframe') continue;
      if (element.getAttribute('loading')?.toLowerCase() === 'lazy') element.setAttribute('loading', 'eager');
    }
  };
  visit(document);
}
