import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const storageName = 'webcapture.theme';

export const theme = signal<Theme>(storedTheme());

/** The colors use CSS light-dark(), which follows `color-scheme`; base.css sets it from this attribute. */
effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
  localStorage.setItem(storageName, theme.value);
});

function storedTheme(): Theme {
  const stored = localStorage.getItem(storageName);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
