if (thread == 0 && rank == 0) {
$text
asm volatile("tcgen05.commit.cta_group::$ctas.mbarrier::arrive::one.shared::cluster$many.b64 [%0]$mask;"
    :: "r"(barrier)$ranks : "memory");
}
unsigned done = 0;
for (unsigned tries = 0; !done && tries < 1u << 22; ++tries)
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(barrier) : "memory");
if (!done) told[1] = 1;
