// Loads the calculator in a page; the file lies beside the script, so any sub-path works.
import url from '../generated/calc.wasm?url';
import { Calc } from './calc';

let loading: Promise<Calc> | undefined;

export function browser_calc(): Promise<Calc> {
  loading ??= fetch(new URL(url, import.meta.url))
    .then((response) => response.arrayBuffer())
    .then((bytes) => Calc.load(bytes));
  return loading;
}
