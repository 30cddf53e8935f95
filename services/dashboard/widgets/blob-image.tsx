import { useEffect, useState } from 'preact/hooks';

/** Returns the object URL of a blob while the component is shown; undefined until the first render is done. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = blob === undefined ? undefined : URL.createObjectURL(blob);
    setUrl(made);
    return made === undefined ? undefined : () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}

/** Shows a picture that is stored as a blob. */
export function BlobImage({ blob, alt }: { readonly blob: Blob; readonly alt: string }) {
  const url = useObjectUrl(blob);
  return url === undefined ? null : <img src={url} alt={alt} decoding="async" />;
}
