// The four statements of the merge proof, with what each must be.
import { shape_text } from '../lang';
import { use_page } from '../page_context';
import type { Proof } from './schema';

const kStatements = [
  ['shapes_equal', true], ['image_rows_equal_visual', true], ['image_rows_equal_placeholder', false], ['other_rows_equal_original', true],
] as const;

export function ProofTable({ proof }: { proof: Proof }) {
  const { t } = use_page();
  const word = (value: boolean | null) => (value === null ? t('proof_unknown') : t(value ? 'proof_true' : 'proof_false'));
  return (
    <>
      <p class="prose">{t('proof_text', { positions: proof.positions, image: proof.image_count, other: proof.other_count, first: proof.first_positions.slice(0, 4).join(', '), visual: shape_text(proof.visual.shape), combined: shape_text(proof.combined.shape) })}</p>
      <div class="scroll" role="region" aria-label={t('trace_proof')} tabIndex={0}>
        <table id="proof-table">
          <thead><tr>{[t('proof_statement'), t('proof_must'), t('proof_is')].map((name) => <th scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {kStatements.map(([key, must]) => (
              <tr>
                <th scope="row">{t(`proof_${key}`)}</th>
                <td>{word(must)}</td>
                <td class={proof[key] === null ? undefined : proof[key] === must ? 'good' : 'bad'}>{word(proof[key])}{proof[key] !== null && (proof[key] === must ? ' ✓' : ' ✗')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
