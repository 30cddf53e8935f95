interface Row {
  readonly key: string;
  readonly value: string;
  readonly description: string;
}

/**
 * Returns the table of a chart's values from the comments `# -- …` in values.yaml. A comment continues on the lines below it.
 * The comment of a value also applies to the following values without a comment.
 */
export function valuesTable(valuesYaml: string): string {
  const lines = ['| value | default | what it is |', '| --- | --- | --- |'];
  for (const { key, value, description } of rowsOf(valuesYaml.split('\n'))) {
    lines.push(`| \`${key}\` | ${value === '' ? '' : `\`${value}\``} | ${description.replaceAll('|', '\\|')} |`);
  }
  return lines.join('\n');
}

function rowsOf(lines: readonly string[]): Row[] {
  const rows: Row[] = [];
  const path: { indent: number; name: string }[] = [];
  let description: string[] = [];
  for (const [index, line] of lines.entries()) {
    const comment = /^ *# ?(-- )?(.*)$/.exec(line);
    if (comment !== null) {
      if (comment[1] !== undefined) description = [comment[2] ?? ''];
      else if (description.length > 0) description.push(comment[2] ?? '');
      continue;
    }
    const entry = /^( *)([A-Za-z][\w]*):(?: (.*))?$/.exec(line);
    if (entry !== null) {
      const [, spaces = '', name = '', value = ''] = entry;
      while (path.length > 0 && (path.at(-1)?.indent ?? 0) >= spaces.length) path.pop();
      path.push({ indent: spaces.length, name });
      if (description.length > 0) {
        const key = path.map((part) => part.name).join('.');
        rows.push({
          key,
          value: value === '' ? nested(lines, index, spaces.length) : value,
          description: description.join(' '),
        });
      }
    }
    description = [];
  }
  return rows;
}

/** Joins the lines below a key if the result is short. */
function nested(lines: readonly string[], index: number, indent: number): string {
  const below: string[] = [];
  for (const line of lines.slice(index + 1)) {
    if (line.trim() === '' || line.length - line.trimStart().length <= indent) break;
    below.push(line.trim());
  }
  const text = below.join(' ');
  return text.length > 60 ? '…' : text;
}
