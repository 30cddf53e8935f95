import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';

interface DateFormat {
  /** BCP 47 language tag. */
  readonly locale: string;
  /** IANA name; default: the time zone of this process. */
  readonly timezone?: string | undefined;
  readonly now: Date;
}

/**
 * Fills the elements of the class `date` in header and footer with the date in the locale's language. Chromium uses the language of its
 * process, regardless of the page's locale.
 */
export function withLocalDates(pdf: PdfOptions, { locale, timezone, now }: DateFormat): PdfOptions {
  const { headerTemplate, footerTemplate } = pdf;
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeStyle: 'short', timeZone: timezone });
  const date = format.format(now);
  return {
    ...pdf,
    ...(headerTemplate === undefined ? {} : { headerTemplate: fillDate(headerTemplate, date) }),
    ...(footerTemplate === undefined ? {} : { footerTemplate: fillDate(footerTemplate, date) }),
  };
}

const tagWithClass =
  /(<([a-z][^\s/>]*)\b(?:[^>"']|"[^"]*"|'[^']*')*?\sclass\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)((?:[^>"']|"[^"]*"|'[^']*')*>)([^<]*)/gi;

/** Replaces the class `date`, whose elements Chromium fills itself. */
const filledClass = 'webcapture-date';

function fillDate(template: string, date: string): string {
  const filled = template.replace(tagWithClass, (all, before: string, _name, quoted: string, rest: string) => {
    const quote = /^["']/.exec(quoted)?.[0] ?? '"';
    const classes = quoted.replaceAll(quote, '').split(/\s+/);
    if (!classes.includes('date')) return all;
    const renamed = classes.map((each) => (each === 'date' ? filledClass : each)).join(' ');
    return `${before}${quote}${renamed}${quote}${rest}${date}`;
  });
  // Renames the class in style rules too.
  return filled.replace(/<style\b[^>]*>[^<]*/gi, (style) => style.replace(/\.date(?![\w-])/g, `.${filledClass}`));
}
