import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

/** The part of the file of `docker buildx bake --metadata-file` that is used. */
type BakeMetadata = Readonly<Record<string, { readonly 'containerimage.digest'?: string } | undefined>>;

/**
 * Writes the registry and the digests of the pushed images into the defaults of a chart, so that the chart installs exactly these
 * images. `chart` is the folder of the chart that is packaged next, `metadata` the content of the metadata file.
 */
export async function pinImages(chart: string, registry: string, metadata: string): Promise<void> {
  const path = join(chart, 'values.yaml');
  const values = parseDocument(await readFile(path, 'utf8'));
  values.setIn(['image', 'registry'], registry);
  values.setIn(['image', 'digest'], digestOf('front', metadata));
  values.setIn(['renderer', 'image', 'digest'], digestOf('renderer', metadata));
  await writeFile(path, values.toString({ lineWidth: 0 }));
}

function digestOf(image: string, metadata: string): string {
  const digest = (JSON.parse(metadata) as BakeMetadata)[image]?.['containerimage.digest'];
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new Error(`the metadata of the build has no digest of the image ${image}; was it pushed?`);
  }
  return digest;
}
