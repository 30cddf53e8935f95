interface Row {
  readonly key: string;
  readonly value: string;
  readonly description: string;
}

/**
 * The table of a chart's values, made of the comments `# -- …` above them in values.yaml. A comment goes on over the lines below
 * it. What has no such comment of its own is told of by the one above.
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

/** The lines below a key in one, as far as that is short. */
function nested(lines: readonly string[], index: number, indent: number): string {
  const below: string[] = [];
  for (const line of lines.slice(index + 1)) {
    if (line.trim() === '' || line.length - line.trimStart().length <= indent) break;
    below.push(line.trim());
  }
  const text = below.join(' ');
  return text.length > 60 ? '…' : text;
}
