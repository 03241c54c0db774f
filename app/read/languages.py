"""Words of Chinese and Korean for what the pages explain, each as the English words that find it. No framework."""

from __future__ import annotations

import re

WORDS = {
    "矩阵描述符": "descriptor", "共享内存描述符": "descriptor", "描述符": "descriptor", "描述子": "descriptor",
    "主维字节偏移": "lbo", "前导维度字节偏移": "lbo", "前导维度偏移": "lbo", "步长维度字节偏移": "sbo",
    "跨步维度偏移": "sbo", "基址偏移": "base offset", "起始地址": "descriptor",
    "存储体冲突": "bank conflict", "内存体冲突": "bank conflict", "银行冲突": "bank conflict",
    "bank冲突": "bank conflict", "存储体": "bank", "冲突": "conflict", "共享内存": "shared", "共享存储器": "shared",
    "共享記憶體": "shared", "交错": "swizzle", "混洗": "swizzle", "重排": "swizzle", "交织": "swizzle",
    "搅拌": "swizzle", "地址重映射": "swizzle", "转置": "transpose", "轉置": "transpose", "元数据": "metadata",
    "稀疏": "sparsity", "结构化稀疏": "sparsity", "片段": "fragment", "碎片": "fragment", "分片": "fragment",
    "寄存器": "register", "线程": "thread", "线程束": "fragment", "累加器": "accumulator", "布局": "fragment",
    "张量核心": "wgmma", "张量核": "wgmma", "张量内存": "tcgen05", "张量映射": "tma", "张量存储器": "tcgen05",
    "异步": "wgmma", "栅栏": "fence", "加载矩阵": "ldmatrix", "矩阵加载": "ldmatrix", "存储矩阵": "stmatrix",
    "块缩放": "block scaling", "缩放因子": "scale_vec", "量化": "block scaling", "硬件验证": "hardware",
    "半精度": "fp16", "双精度": "fp64", "单精度": "fp32", "整数": "integer",
    "행렬 디스크립터": "descriptor", "행렬 서술자": "descriptor", "디스크립터": "descriptor", "서술자": "descriptor",
    "기술자": "descriptor", "뱅크 충돌": "bank conflict", "뱅크충돌": "bank conflict", "뱅크": "bank",
    "충돌": "conflict", "공유 메모리": "shared", "공유메모리": "shared", "셰어드 메모리": "shared",
    "스위즐링": "swizzle", "스위즐": "swizzle", "스위즐 모드": "swizzle", "전치": "transpose",
    "트랜스포즈": "transpose", "메타데이터": "metadata", "희소성": "sparsity", "희소": "sparsity",
    "프래그먼트": "fragment", "조각": "fragment", "레지스터": "register", "스레드": "thread", "쓰레드": "thread",
    "누산기": "accumulator", "어큐뮬레이터": "accumulator", "레이아웃": "fragment", "텐서 코어": "wgmma",
    "텐서코어": "wgmma", "텐서 메모리": "tcgen05", "텐서 맵": "tma", "펜스": "fence", "블록 스케일링": "block scaling",
    "스케일 팩터": "scale_vec", "양자화": "block scaling", "하드웨어 검증": "hardware", "반정밀도": "fp16",
    "前导维字节偏移": "lbo", "前导维": "lbo", "前导维度": "lbo", "领先维度": "lbo", "步长字节偏移": "sbo",
    "指令描述符": "instruction descriptor", "张量描述符": "tma", "行主序": "k-major", "列主序": "k-major",
    "异或": "swizzle", "核心矩阵": "core matrix", "比例因子": "scale_vec", "线程值布局": "thread-value",
    "结构稀疏": "sparsity", "收尾": "epilogue", "尾声": "epilogue",
    "명령어 디스크립터": "instruction descriptor", "명령 디스크립터": "instruction descriptor",
    "명령어 서술자": "instruction descriptor", "선행 차원": "lbo", "보폭": "sbo", "행 우선": "k-major",
    "열 우선": "k-major", "에필로그": "epilogue", "누적기": "accumulator", "코어 행렬": "core matrix",
    "텐서 디스크립터": "tma", "스레드 값 레이아웃": "thread-value", "메타 데이터": "metadata",
    "리딩 차원 오프셋": "lbo", "스트라이드 차원 오프셋": "sbo", "오프셋": "lbo",
}  # fmt: skip
_FOREIGN = re.compile("|".join(re.escape(word) for word in sorted(WORDS, key=len, reverse=True)))
_SCRIPT = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]")
_ASCII = re.compile("[A-Za-z]{2}")
_MOST_OTHER = 0.7  # of the characters of a question that are none of these words
_PARTICLES = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]+")


def in_english(text: str) -> str:
    """A text with the known words in English and the rest of its foreign words left out; itself where it has none."""
    if not _SCRIPT.search(text):
        return text
    if not _ASCII.search(text) and len(_SCRIPT.findall(_FOREIGN.sub("", text))) > _MOST_OTHER * len(
        _SCRIPT.findall(text)
    ):
        return ""  # prose that has a word of ours
    return " ".join(_PARTICLES.sub(" ", _FOREIGN.sub(lambda match: f" {WORDS[match[0]]} ", text)).split())
